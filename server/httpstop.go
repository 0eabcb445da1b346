package server

import (
	"context"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/background"
)

// httpGrace is how long a connection without a request waits for its first one when the server
// stops. A client that connects usually sends a request at once, and the server cannot see whether
// one is in flight.
const httpGrace = 250 * time.Millisecond

// httpMoment is how long the server looks for unread bytes of a connection that has had a request.
const httpMoment = 20 * time.Millisecond

// httpSweep is how often a stopping server looks whether a first request has begun.
const httpSweep = 50 * time.Millisecond

// httpPatience is how long net/http waits for a first request's header when it stops.
const httpPatience = 5 * time.Second

// OnDrain ends a connection on which no request is in progress. A connection with a request in
// progress ends after its answer.
func (h *httpHandler) OnDrain(c *Conn) {
	if !h.stopping.Load() { // a handler around this one hides it from the server
		g := c.Group()
		background.Go(func() { h.stop(g) })
	}
	if !c.Lent() {
		_ = h.endIdle(c) // it is open
	}
}

// endIdle ends a connection without a request when the server stops, unless a request may have
// begun. It may have in two cases: unread bytes have arrived, or the connection is new and its
// first bytes may be about to arrive. Such a request is served, and its answer says that the
// connection ends.
func (h *httpHandler) endIdle(c *Conn) error {
	grace := h.grace
	if !h.first(c) {
		grace = httpMoment
	}
	return c.SetReadDeadline(time.Now().Add(grace))
}

// stop is called when the server stops. Requests in progress are served, and their answers say that
// the connection ends. A second http.Server serves requests that begin now in the same way. When
// stop returns, the functions of RegisterOnShutdown have been started, except in two cases. A
// request's header has arrived in part: then they start when the header is whole, at the latest
// after httpPatience. net/http has connections between two requests: then they start when those
// have ended, see httpStay.endSoon.
func (h *httpHandler) stop(g *conn.Group) {
	if h.stopping.Swap(true) {
		return
	}
	h.prepare()
	h.srv.SetKeepAlivesEnabled(false) // before any more answers
	h.srv.RegisterOnShutdown(func() { close(h.told) })
	ctx, cancel := context.WithCancel(context.Background())
	background.Go(func() {
		select {
		case <-g.Runtime().Done(): // connections have ended, even if handlers still run
		case <-ctx.Done():
		}
		cancel()
	})
	var ends sync.WaitGroup
	begin := func() {
		ends.Go(func() { _ = h.srv.Shutdown(ctx) })
		ends.Go(func() { h.stopAfter(ctx) })
		ends.Wait()
		cancel()
	}
	if h.before.unread.Load() == 0 {
		background.Go(begin)
		<-h.told
		return
	}
	background.Go(func() {
		h.await(ctx, &h.before, 0)
		begin()
	})
}

// stopAfter stops the http.Server for requests that begin while the server stops.
func (h *httpHandler) stopAfter(ctx context.Context) {
	h.await(ctx, &h.after, 2*h.grace+httpSweep+2*conn.DrainHandshake)
	_ = h.after.srv.Shutdown(ctx)
}

// stopped is called once no connection is left. After Shutdown it waits for the functions of
// RegisterOnShutdown. After Close it ends net/http's Serve. The end of the workers would do so too,
// but they may belong to a group that goes on.
func (h *httpHandler) stopped() {
	if h.stopping.Load() {
		<-h.told
		return
	}
	_ = h.before.feed.Close() // no connection has begun in the second one: only stop begins to use it
}

// await waits until net/http has read the header of each request that has begun. It waits for at
// least as long as a request may begin, and for as long as net/http itself waits for a first one.
func (h *httpHandler) await(ctx context.Context, s *httpServing, least time.Duration) {
	begun := time.Now()
	look := time.NewTicker(httpSweep)
	defer look.Stop()
	for time.Since(begun) < least || s.unread.Load() > 0 && time.Since(begun) < least+httpPatience {
		select {
		case <-s.none:
		case <-look.C:
			if s == &h.before { // some may have become idle meanwhile
				h.srv.SetKeepAlivesEnabled(false)
			}
		case <-ctx.Done():
			return
		}
	}
}
