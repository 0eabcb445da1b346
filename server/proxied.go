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

// A ProxyProtocol makes a server read the PROXY protocol's header at the beginning of each
// connection, so that Conn.RemoteAddr is the client's address and not the proxy's. The handler gets
// its first event after the header. A connection without a header is closed, the handler gets no
// event, and the log gives the reason.
type ProxyProtocol struct {
	// Trust says which addresses may send a header. Its zero value rejects all.
	Trust proxyproto.Trust

	// Timeout bounds the time until the header is complete. 0: 5 s.
	Timeout time.Duration

	// Header, if not nil, is called with each header before Handler.OnOpen. Its
	// TLVs are valid until it returns. An error closes the connection.
	Header func(*Conn, *proxyproto.Header) error
}

// Handler is a Handler that reads the header of each connection and then passes the connection to
// h. Server.Proxy does this for all connections of a server. Handler is for a conn.Listener, or if
// only some connections have a header. p must not change any more.
func (p *ProxyProtocol) Handler(h Handler) Handler { return &headerReader{inner: h, protocol: p} }

// A headerReader is the handler of connections whose header is not complete.
type headerReader struct {
	Base
	inner    Handler
	protocol *ProxyProtocol
}

// Stackful implements Stackful.
func (r *headerReader) Stackful() bool { return isStackful(r.inner) }

func (r *headerReader) OnOpen(c *Conn) error {
	switch p := r.protocol; p.Trust.For(c.RemoteAddr()) {
	case proxyproto.Ignore:
		return r.enter(c)
	case proxyproto.Reject:
		return proxyproto.ErrUntrusted
	default:
		return c.SetReadDeadline(time.Now().Add(cmp.Or(p.Timeout, 5*time.Second)))
	}
}

func (r *headerReader) OnData(c *Conn) error {
	p := r.protocol
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
	return r.enter(c)
}

// enter passes the connection to the handler. If the connection is to end, the handler's OnDrain is
// called as well: by the group if that shuts down, else here.
func (r *headerReader) enter(c *Conn) error {
	draining := c.Draining()
	_ = c.SetHandler(r.inner)
	if err := r.inner.OnOpen(c); err != nil || !draining || c.Draining() {
		return err
	}
	return c.Handle().Drain()
}

// OnDrain waits for a header that has begun, or that may be in flight since proxies send it at
// once. The handler's OnDrain is called when the header is complete.
func (r *headerReader) OnDrain(c *Conn) {
	patience := conn.DrainHandshake
	if c.Buffered() == 0 {
		patience /= 4
	}
	if t := r.protocol.Timeout; t > 0 {
		patience = min(patience, t)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience)) // it is open
}

// OnDeadline ends a connection whose header is not complete. While the server stops this is no
// error of the peer.
func (r *headerReader) OnDeadline(c *Conn) error {
	if c.Draining() {
		return c.Close()
	}
	return fmt.Errorf("server: no PROXY header: %w", os.ErrDeadlineExceeded)
}

func (r *headerReader) OnEOF(*Conn) error {
	return fmt.Errorf("server: no PROXY header: %w", io.ErrUnexpectedEOF)
}

func (r *headerReader) OnClose(c *Conn, err error) {
	if err != nil {
		c.Group().Logger().Warn("server: connection without a valid PROXY header", "remote", c.RemoteAddr(), "error", err)
	}
}

var _ conn.Handler = (*headerReader)(nil)
