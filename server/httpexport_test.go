package server

import "time"

// WithLinger changes how long a connection stays with its goroutine after a request.
func WithLinger(h Handler, d time.Duration) Handler {
	h.(*httpHandler).linger = d
	return h
}
