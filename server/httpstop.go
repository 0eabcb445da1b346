package server

import (
	"context"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
)

// httpGrace is how long a connection without a request waits for its first one when the
// server stops: who connects usually asks at once, and nothing but the kernel of a client
// knows whether a request is under way.
const httpGrace = 250 * time.Millisecond

// httpMoment is how long one that has had a request is looked at for bytes that have come
// and that the worker has not seen.
const httpMoment = 20 * time.Millisecond

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
	grace := h.grace
	if !h.first(c) {
		grace = httpMoment
	}
	return c.SetReadDeadline(time.Now().Add(grace))
}

// stop is the server's end: requests in progress are served, and their answers say that
// the connection ends with them. So are those that begin now, by another http.Server. When it
// returns, the functions of RegisterOnShutdown have been started, unless a request's
// header has come in part: then they are when it is whole, or not for httpPatience.
func (h *httpHandler) stop(g *conn.Group) {
	if h.stopping.Swap(true) {
		return
	}
	h.prepare()
	h.srv.SetKeepAlivesEnabled(false) // before any more answers
	h.srv.RegisterOnShutdown(func() { close(h.told) })
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-g.Runtime().Done(): // connections are over, whatever handlers still do
		case <-ctx.Done():
		}
		cancel()
	}()
	var ends sync.WaitGroup
	begin := func() {
		ends.Go(func() { _ = h.srv.Shutdown(ctx) })
		ends.Go(func() { h.stopAfter(ctx) })
		ends.Wait()
		cancel()
	}
	if h.before.unread.Load() == 0 {
		go begin()
		<-h.told
		return
	}
	go func() {
		h.await(ctx, &h.before, 0)
		begin()
	}()
}

// stopAfter stops the http.Server of what begins while the server stops.
func (h *httpHandler) stopAfter(ctx context.Context) {
	h.await(ctx, &h.after, 2*h.grace+httpSweep+2*conn.DrainHandshake)
	_ = h.after.srv.Shutdown(ctx)
}

// stopped is called once no connection is left. After Shutdown it waits for the functions of
// RegisterOnShutdown. After Close it ends net/http's Serve, because the workers, whose end
// does so too, may belong to a group that goes on.
func (h *httpHandler) stopped() {
	if h.stopping.Load() {
		<-h.told
		return
	}
	_ = h.before.feed.Close() // nothing has begun in the other one, which stop begins to use
}

// await waits until net/http has read the header of each request that is under way, at least
// for as long as one may begin, and for as long as net/http itself waits for a first one.
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
