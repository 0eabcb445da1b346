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

// An httpsConn is the httpConn of HTTPS: between requests the workers have the tls.Conn
// that it embeds, and it has none. net/http asks ConnectionState for Request.TLS.
type httpsConn struct {
	*tls.Conn
	httpStay
}

// now is the tls.Conn, or once that is the workers' again the Socket, which says that it is
// closed. The caller holds inUse, so that it stays what it is.
func (c *httpsConn) now() interface {
	net.Conn
	CloseWrite() error
} {
	if c.phase.Load() == httpReturned {
		return c.socket
	}
	return c.Conn
}

// Read implements net.Conn. It may give the connection back, so it is not under inUse: of
// all that net/http does at that time, only Close comes from another goroutine.
func (c *httpsConn) Read(p []byte) (int, error) { return c.read(p) }

// SetReadDeadline implements net.Conn. It is the Socket's alone.
func (c *httpsConn) SetReadDeadline(t time.Time) error { return c.setReadDeadline(t) }

// Write implements net.Conn.
func (c *httpsConn) Write(p []byte) (int, error) {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().Write(p)
}

// Close implements net.Conn.
func (c *httpsConn) Close() error {
	c.inUse.RLock()
	defer c.inUse.RUnlock()
	return c.now().Close()
}

// CloseWrite is that of *tls.Conn.
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

// lendTLS makes what has come over TLS what net/http serves: what is not HTTP/1 for good,
// which wants a *tls.Conn itself.
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

// tlsNextProto reports whether what was agreed on is http.Server.TLSNextProto's affair:
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

// overTLS has TLS be as http.Server.ServeTLS has it.
func (h *httpHandler) overTLS(cfg *conn.TLSConfig) {
	cfg.Config.NextProtos = nextProtos(cfg.Config.NextProtos, h.protocols())
	cfg.Refuse = func(begin [5]byte) string {
		switch string(begin[:]) {
		case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
			return "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
		}
		return ""
	}
}

// protocols are those that srv serves over TLS, by its own rules.
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

// nextProtos is what ALPN offers: what is wanted, with what is missing.
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
