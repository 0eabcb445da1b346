package server

import (
	"net/http"
	"time"
)

// Twin is what serves requests that begin while a server stops.
func Twin(srv *http.Server) *http.Server { return twin(srv) }

// WithGrace changes how long a connection without a request waits for its first one when
// the server stops.
func WithGrace(h Handler, d time.Duration) Handler {
	h.(*httpHandler).grace = d
	return h
}

// WithLinger changes how long a connection stays with its goroutine after a request.
func WithLinger(h Handler, d time.Duration) Handler {
	h.(*httpHandler).linger = d
	return h
}

// Lingering is how many connections wait for their next request with their goroutine.
func Lingering(h Handler) int64 { return h.(*httpHandler).lingering.Load() }
