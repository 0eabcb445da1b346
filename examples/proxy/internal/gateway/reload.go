package gateway

import (
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// A Gateway is the connections of a listener, from one configuration to the next. Each request
// takes the newest route. The zero value is ready.
type Gateway struct {
	now      atomic.Pointer[idle]
	draining atomic.Bool

	mu   sync.Mutex
	open map[conn.Handle]*idle // all connections, with the handler by which each has come
}

// Follow replaces the route of all later requests. It returns the handler of new connections. nil:
// the listener is closed, or does not speak HTTP any more. Idle connections that have come in
// another way than the route wants end at once, and those with a request end behind its answer.
func (g *Gateway) Follow(r *route.Route) conn.Handler {
	if r == nil {
		g.now.Store(nil)
		g.endIdle()
		return nil
	}
	h := &idle{gateway: g, route: r, filter: newFilter(r.Route)}
	g.now.Store(h)
	g.endIdle()
	return r.Cover(h)
}

func (g *Gateway) enter(c *conn.Conn, h *idle) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[conn.Handle]*idle{}
	}
	g.open[c.Handle()] = h
}

func (g *Gateway) leave(c *conn.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c.Handle())
}

// endIdle closes the connections without a request that have come in another way than the newest
// route wants.
func (g *Gateway) endIdle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for at, h := range g.open {
		if h.ending() {
			_ = at.Do(func(c *conn.Conn) {
				if !c.Lent() {
					_ = c.Close()
				}
			})
		}
	}
}

// newest is the handler of the newest configuration; nil: there is none for connections that have
// come this way.
func (h *idle) newest() *idle {
	if h.gateway == nil {
		return h
	}
	if now := h.gateway.now.Load(); now != nil && now.route.Admits(h.route) {
		return now
	}
	return nil
}

// ending reports whether connections that have come this way end with their request: in a drain,
// and if their listener, its TLS or its proxy_from is another one now.
func (h *idle) ending() bool {
	now := h.newest()
	return now == nil || !now.route.Handshakes(h.route) || h.gateway != nil && h.gateway.draining.Load()
}

// renew makes the request use the newest configuration. If there is none for the connection, the
// request was in flight at the reload, and uses that of before.
func (k *client) renew() {
	if now := k.h.newest(); now != nil {
		k.place.move(now.route)
		k.route, k.now = now.route, now
	}
}

func (k *client) filter() *filter {
	if k.now != nil {
		return k.now.filter
	}
	return k.h.filter
}
