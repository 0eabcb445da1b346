package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
)

// A ProxyProtocol has a server read the PROXY protocol's header before anything else of
// a connection, so that Conn.RemoteAddr is the client's address and not the proxy's.
// The handler learns of the connection when the header has come, and of none whose
// header does not: that is closed, and the log tells why.
type ProxyProtocol struct {
	// Trust says from whom a header is believed. Its zero value rejects everybody.
	Trust proxyproto.Trust

	// Timeout is how long the header may take. 0: 5 s.
	Timeout time.Duration

	// Header, if not nil, is called with each header before Handler.OnOpen. Its
	// TLVs are valid until it returns. An error closes the connection.
	Header func(*Conn, *proxyproto.Header) error
}

// Handler is a Handler that reads the header of each connection and then makes it h's, as
// Server.Proxy does for all of a server: for a conn.Listener, or where only some
// connections have one. p must not change any more.
func (p *ProxyProtocol) Handler(h Handler) Handler { return &gate{inner: h, protocol: p} }

// A gate is the handler of connections whose header has not come yet.
type gate struct {
	Base
	inner    Handler
	protocol *ProxyProtocol
}

func (g *gate) OnOpen(c *Conn) error {
	switch p := g.protocol; p.Trust.For(c.RemoteAddr()) {
	case proxyproto.Ignore:
		return g.enter(c)
	case proxyproto.Reject:
		return proxyproto.ErrUntrusted
	default:
		return c.SetReadDeadline(time.Now().Add(cmp.Or(p.Timeout, 5*time.Second)))
	}
}

func (g *gate) OnData(c *Conn) error {
	p := g.protocol
	b, _ := c.Peek(-1)
	h, n, err := p.Trust.Parse(p.Trust.For(c.RemoteAddr()), b)
	switch {
	case errors.Is(err, proxyproto.ErrIncomplete):
		return nil
	case err != nil:
		return err
	}
	if client := h.SourceAddr(); client != nil {
		c.SetRemoteAddr(client)
	}
	if p.Header != nil && h.Version != 0 {
		if err := p.Header(c, &h); err != nil {
			return err
		}
	}
	if _, err := c.Discard(n); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return g.enter(c)
}

// enter makes the connection the handler's, which is told as well if the connection is to come
// to its end: by the group if that shuts down, else here.
func (g *gate) enter(c *Conn) error {
	draining := c.Draining()
	_ = c.SetHandler(g.inner)
	if err := g.inner.OnOpen(c); err != nil || !draining || c.Draining() {
		return err
	}
	return c.Handle().Drain()
}

// OnDrain waits for a header that is under way, or may be, since proxies send one at once: the
// handler is told to come to an end when the header has come.
func (g *gate) OnDrain(c *Conn) {
	patience := conn.DrainHandshake
	if c.Buffered() == 0 {
		patience /= 4
	}
	if t := g.protocol.Timeout; t > 0 {
		patience = min(patience, t)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience)) // it is open
}

// OnDeadline ends a connection whose header has not come. While the server stops nobody is to
// blame for that.
func (g *gate) OnDeadline(c *Conn) error {
	if c.Draining() {
		return c.Close()
	}
	return fmt.Errorf("server: no PROXY header: %w", os.ErrDeadlineExceeded)
}

func (g *gate) OnEOF(*Conn) error {
	return fmt.Errorf("server: no PROXY header: %w", io.ErrUnexpectedEOF)
}

func (g *gate) OnClose(c *Conn, err error) {
	if err != nil {
		c.Group().Logger().Warn("server: connection without a valid PROXY header", "remote", c.RemoteAddr(), "error", err)
	}
}

var _ conn.Handler = (*gate)(nil)
