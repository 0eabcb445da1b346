package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/background"
)

// An httpSentry is a connection of net/http without a client. It tells when keep-alives are
// disabled: http.Server.SetKeepAlivesEnabled(false) closes all idle connections that net/http
// knows, and so the sentry. Its Close then closes the idle connections of the workers, too. A
// sentry becomes idle by one request, which net/http answers and the Handler does not see. It costs
// a goroutine for each http.Server.
//
// No connection is missed. Before a connection is given back, sentry makes sure that there is a
// sentry. The worker, where it is idle from then on, closes it if that sentry has been closed
// meanwhile. A sentry that is closed after that finds the connection idle.
//
// A closed sentry is replaced when the next connection is given back. While keep-alives are
// disabled, net/http ends each connection with its request, and none is given back.
type httpSentry struct {
	h *httpHandler

	mu      sync.Mutex
	changed sync.Cond
	request string // the part of the request that is not read yet
	expired bool   // the read deadline has passed: Read returns
	over    bool
}

const httpSentryRequest = "OPTIONS * HTTP/1.1\r\nHost: sentry\r\n\r\n"

// httpSentryAddr is the address of sentries: no connection has it.
type httpSentryAddr struct{}

func (httpSentryAddr) Network() string { return "sentry" }
func (httpSentryAddr) String() string  { return "http sentry" }

var _ net.Conn = (*httpSentry)(nil)

// sentry returns the current sentry, and makes one if need be. It returns nil when the server
// stops, which ends idle connections itself.
func (h *httpHandler) sentry() *httpSentry {
	for {
		if h.stopping.Load() {
			return nil
		}
		old := h.watch.Load()
		if old != nil && !old.ended() {
			return old
		}
		s := &httpSentry{h: h, request: httpSentryRequest}
		s.changed.L = &s.mu
		if !h.watch.CompareAndSwap(old, s) {
			continue
		}
		if !h.before.feed.put(httpFed{Conn: s}) {
			s.end()
		}
		return s
	}
}

// closeIdle closes the connections that have had a request and wait for the next one.
func (h *httpHandler) closeIdle() {
	for i := range h.before.group.Connections() {
		_ = i.Handle.Do(func(c *Conn) {
			if v, ok := c.Value().(*httpIdle); ok && v.h == h && v.opened.IsZero() && !c.Lent() {
				_ = c.Close() // it may be closing
			}
		})
	}
}

// hide hides sentries from the user's functions that the http.Server calls. It is called before the
// http.Server serves.
func (h *httpHandler) hide() {
	if of := h.srv.ConnContext; of != nil {
		h.srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			if _, ok := c.(*httpSentry); ok {
				return ctx
			}
			return of(ctx, c)
		}
	}
	if !h.srv.DisableGeneralOptionsHandler { // then net/http answers the request itself
		return
	}
	of := h.srv.Handler
	if of == nil {
		of = http.DefaultServeMux
	}
	h.srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RemoteAddr != (httpSentryAddr{}).String() {
			of.ServeHTTP(w, r)
		}
	})
}

func (s *httpSentry) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// end ends the sentry, and reports whether it had not ended before.
func (s *httpSentry) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.over
	s.over = true
	s.changed.Broadcast()
	return first
}

// Close implements net.Conn. net/http calls it under its own lock.
func (s *httpSentry) Close() error {
	if s.end() && !s.h.stopping.Load() {
		background.Go(s.h.closeIdle)
	}
	return nil
}

// Read implements net.Conn.
func (s *httpSentry) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.over:
			return 0, io.EOF
		case s.expired:
			return 0, os.ErrDeadlineExceeded
		case len(s.request) > 0:
			n := copy(p, s.request)
			s.request = s.request[n:]
			return n, nil
		}
		s.changed.Wait()
	}
}

// SetReadDeadline implements net.Conn. A deadline in the past ends a Read, as net/http uses it. All
// others are ignored, because the sentry is idle as long as the server runs.
func (s *httpSentry) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = !t.IsZero() && time.Until(t) <= 0
	s.changed.Broadcast()
	return nil
}

// Write implements net.Conn.
func (s *httpSentry) Write(p []byte) (int, error) { return len(p), nil }

// LocalAddr implements net.Conn.
func (s *httpSentry) LocalAddr() net.Addr { return httpSentryAddr{} }

// RemoteAddr implements net.Conn.
func (s *httpSentry) RemoteAddr() net.Addr { return httpSentryAddr{} }

// SetDeadline implements net.Conn.
func (s *httpSentry) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (s *httpSentry) SetWriteDeadline(time.Time) error { return nil }
