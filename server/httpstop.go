package server

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/conn"
)

// httpGrace is how long a connection without a request waits for its first one when the
// server stops: who connects usually asks at once, and nothing but the kernel of a client
// knows whether a request is under way.
const httpGrace = 250 * time.Millisecond

// httpMoment is how long one that has had a request is looked at for bytes that have come
// and that the worker has not seen.
const httpMoment = 5 * time.Millisecond

// httpSweep is how often a server that stops looks whether a first request is under way.
const httpSweep = 50 * time.Millisecond

// httpPatience is how long net/http waits for a first request's header when it stops.
const httpPatience = 5 * time.Second

// OnDrain ends a connection on which no request is in progress; one on which there is,
// the server's end ends afterwards.
func (h *httpHandler) OnDrain(c *Conn) {
	if !h.stopping.Load() { // a handler around this one hides it from the server
		go h.stop(c.Group())
	}
	if !c.Lent() {
		_ = h.endIdle(c) // it is open
	}
}

// endIdle ends a connection without a request when the server stops, unless one is under
// way: bytes have come that nobody has seen, or it is a new one, from which they may be
// about to come. Such a request is served, and its answer says that the connection ends.
func (h *httpHandler) endIdle(c *Conn) error {
	grace := httpGrace
	if !h.first(c) {
		grace = httpMoment
	}
	return c.SetReadDeadline(time.Now().Add(grace))
}

// stop is the server's end: requests in progress are served, and their answers say that
// the connection ends with them. So are those that begin now: only when no first request
// can be under way any more is net/http told to stop, because it drops each that it has
// read by then. Until then it closes what becomes idle, since connections are not kept.
func (h *httpHandler) stop(g *conn.Group) {
	if h.stopping.Swap(true) {
		return
	}
	h.srv.SetKeepAlivesEnabled(false) // before any more answers
	go func() {
		over := g.Runtime().Done()
		h.awaitFirst(over)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-over // connections are over, whatever handlers still do
			cancel()
		}()
		_ = h.srv.Shutdown(ctx)
	}()
}

// awaitFirst waits until net/http has all the requests that are under way, for as long as
// net/http itself waits for a first one.
func (h *httpHandler) awaitFirst(over <-chan struct{}) {
	grace := httpGrace
	if h.secure {
		grace += conn.DrainHandshake
	}
	begun := time.Now()
	look := time.NewTicker(httpSweep)
	defer look.Stop()
	for time.Since(begun) < grace || h.unread.Load() > 0 && time.Since(begun) < httpPatience {
		select {
		case <-look.C:
			h.srv.SetKeepAlivesEnabled(false)
		case <-over:
			return
		}
	}
}
