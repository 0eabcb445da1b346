package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/suiro-go/suiro/conn"
)

// An httpsConn is the httpConn of HTTPS. Between requests the workers have the embedded tls.Conn,
// and the httpsConn has none. net/http asks ConnectionState for Request.TLS.
type httpsConn struct {
	*tls.Conn
	httpStay
}

// now returns the tls.Conn. Once the workers have that back, it returns the Socket, which reports
// that it is closed. The caller holds inUse, so that the result stays valid.
func (c *httpsConn) now() interface {
	net.Conn
	CloseWrite() error
} {
	if c.phase.Load() == httpReturned {
		return c.socket
	}
	return c.Conn
}

// Read implements net.Conn. It may give the connection back, so it does not hold inUse. At that
// time net/http calls only Close from another goroutine.
func (c *httpsConn) Read(p []byte) (int, error) { return c.read(p) }

// SetReadDeadline implements net.Conn. It concerns only the Socket.
func (c *httpsConn) SetReadDeadline(t time.Time) error { return c.setReadDeadline(t) }

// Write implements net.Conn.
func (c *httpsConn) Write(p []byte) (int, error) {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().Write(p)
}

// Close implements net.Conn.
func (c *httpsConn) Close() error {
	if c.endSoon() {
		return nil
	}
	c.closed.Store(true)
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().Close()
}

// CloseWrite does what that of *tls.Conn does.
func (c *httpsConn) CloseWrite() error {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().CloseWrite()
}

// SetDeadline implements net.Conn.
func (c *httpsConn) SetDeadline(t time.Time) error {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().SetDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *httpsConn) SetWriteDeadline(t time.Time) error {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().SetWriteDeadline(t)
}

// lendTLS makes a connection over TLS one that net/http serves. A connection that does not speak
// HTTP/1 stays with net/http, which wants a *tls.Conn itself.
func (h *httpHandler) lendTLS(c *Conn) httpFed {
	p, _ := c.Next(-1)
	early := slices.Clone(p)
	t, s := c.LendTLS()
	switch {
	case s == nil:
		return httpFed{}
	case tlsNextProto(c):
		return httpFed{t, &httpStay{socket: s}}
	}
	hc := &httpsConn{Conn: t}
	hc.socket, hc.conn, hc.early = s, hc.Conn, early
	return httpFed{hc, &hc.httpStay}
}

// tlsNextProto reports whether http.Server.TLSNextProto handles the negotiated protocol, by
// net/http's rule.
func tlsNextProto(c *Conn) bool {
	state := c.TLS()
	if state == nil {
		return false
	}
	switch state.NegotiatedProtocol {
	case "", "http/1.1", "http/1.0":
		return false
	}
	return true
}

// overTLS sets the TLS configuration as http.Server.ServeTLS does.
func (h *httpHandler) overTLS(cfg *conn.TLSConfig) {
	cfg.Config.NextProtos = nextProtos(cfg.Config.NextProtos, h.protocols())
	cfg.PlaintextReply = func(recordHeader [5]byte) string {
		switch string(recordHeader[:]) {
		case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
			return "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
		}
		return ""
	}
}

// protocols returns the protocols that srv serves over TLS, by its own rules.
func (h *httpHandler) protocols() (p http.Protocols) {
	if h.srv.Protocols != nil {
		return *h.srv.Protocols
	}
	next := h.srv.TLSNextProto
	off := slices.Contains(strings.Split(os.Getenv("GODEBUG"), ","), "http2server=0")
	p.SetHTTP1(true)
	p.SetHTTP2(next["h2"] != nil || next == nil && !off)
	return p
}

// nextProtos returns the protocols that ALPN offers: those of the configuration, and missing ones
// of p.
func nextProtos(wanted []string, p http.Protocols) []string {
	all := slices.Clone(wanted)
	for _, of := range []struct {
		name   string
		served bool
	}{{"h2", p.HTTP2()}, {"http/1.1", p.HTTP1()}} {
		switch at := slices.Index(all, of.name); {
		case of.served && at < 0:
			all = append(all, of.name)
		case !of.served && at >= 0:
			all = slices.Delete(all, at, at+1)
		}
	}
	return all
}
