// Package gateway is a reverse proxy for HTTP/1.1: it reads each request, chooses an upstream
// for it, and passes on both messages as they come.
//
// A connection is a goroutine's while there is a request on it, and the workers' between
// requests, when it costs no goroutine and no buffer; connections to upstreams wait in a
// server.Pool. Messages are taken apart by package h1, which refuses whatever two parties could
// understand differently, and are written anew: no framing of either side reaches the other.
package gateway

import (
	"net"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// idle is the handler of connections on which there is no request.
type idle struct {
	conn.Base
	gateway *Gateway // nil: in a test of messages alone
	route   *route.Route
	filter  *filter
}

// OnOpen admits the connection.
func (h *idle) OnOpen(c *conn.Conn) error {
	now := h.newest()
	if now == nil || h.gateway.draining.Load() {
		return c.Close()
	}
	route.Arrive(c)
	if !now.route.Admit() {
		route.LogRefused(c, route.BoundOfRoute)
		c.Abort()
		return nil
	}
	p := &place{route: now.route}
	p.take()
	c.SetValue(p)
	h.gateway.enter(c, h)
	c.NotifyClose(func() { // whichever handler it has then
		h.gateway.leave(c)
		p.leave()
	})
	if h.newest() == nil { // since a moment ago, so that Follow may not have seen the connection
		return c.Close()
	}
	return c.SetReadDeadline(c.Now().Add(now.route.Header())) // for the first request to begin
}

// OnDeadline ends a connection that has never asked for anything, without waiting for its peer.
func (h *idle) OnDeadline(c *conn.Conn) error {
	_ = c.SetLingerTimeout(time.Millisecond)
	return c.Close()
}

// back lets a connection wait for its next request.
func (h *idle) back(c *conn.Conn) error {
	now := h.newest()
	if now == nil || h.ending() {
		return c.Close()
	}
	return c.SetIdleTimeout(now.route.Idle())
}

// OnData begins a request, on a goroutine.
func (h *idle) OnData(c *conn.Conn) error {
	now := h.newest()
	if now == nil {
		return c.Close()
	}
	// While there is a request each wait has a deadline of its own.
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := c.SetIdleTimeout(0); err != nil {
		return err
	}
	k := &client{h: h, now: now, handle: c.Handle(), route: now.route, remote: c.RemoteAddr(), covered: c.TLS() != nil, buf: getBuffer()}
	if k.covered { // the connection then has later bytes only
		p, _ := c.Next(-1)
		k.buf.keep(p)
	}
	l := lend(c)
	if l == nil {
		putBuffer(k.buf)
		return net.ErrClosed
	}
	k.conn, k.socket = l.conn, l.socket
	k.place, _ = conn.ValueOf[*place](c)
	k.place.take()
	go k.serve()
	return nil
}

// OnDrain ends connections without a request; the others end with theirs.
func (h *idle) OnDrain(c *conn.Conn) {
	h.gateway.draining.Store(true)
	if !c.Lent() {
		h.Base.OnDrain(c) // a request that has arrived is served
	}
}
