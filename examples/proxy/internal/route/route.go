// Package route is a route at work: its configuration, its upstreams and its counts.
package route

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
	"github.com/suiro-go/suiro/server"
)

// A Route is one of a configuration. It does not change; a reload makes another one, with
// the same Counts, and the same TLS as long as its settings and files are the same.
type Route struct {
	*config.Route
	*Counts
	Set    *upstream.Set
	Group  func() *conn.Group
	Pool   *server.Pool // of http: connections that wait for their next request
	secret *server.Pool // the same, of those within TLS, for routes that believe the same upstreams
	Access *slog.Logger // nil: nobody wants to know

	front, back *tls.Config
}

// Cover wraps a route's handler in those for the bytes before its own: TLS, and before that a PROXY
// header.
func (r *Route) Cover(h conn.Handler) conn.Handler {
	if r.front != nil {
		h = conn.ServeTLS(conn.TLSConfig{Config: r.front, Timeout: r.Header()}, h)
	}
	if r.Introduced() {
		p := &server.ProxyProtocol{Trust: proxyproto.Trust{Sources: r.ProxyFrom, Unix: true}, Timeout: r.Header()}
		h = p.Handler(&named{inner: h})
	}
	return h
}

// Header is how long the first bytes of a connection may take.
func (r *Route) Header() time.Duration { return r.HeaderTimeout.Or(10 * time.Second) }

// Idle is how long a connection lives without a byte.
func (r *Route) Idle() time.Duration { return r.IdleTimeout.Or(10 * time.Minute) }

// Rate is how many bytes in a second a client of http must send or take; negative: no bound.
func (r *Route) Rate() int { return cmp.Or(r.MinRate, 240) }

// MostRequests is how many requests a connection may have; negative: no bound.
func (r *Route) MostRequests() int { return cmp.Or(r.MaxRequests, 1000) }

// Reply is how long the head of an answer may take.
func (r *Route) Reply() time.Duration { return r.ReplyTimeout.Or(time.Minute) }

// Dialer is for connections to an upstream of the route.
func (r *Route) Dialer(to config.Address) server.Dialer {
	d := server.Dialer{Group: r.Group, Timeout: r.ConnectTimeout.Or(5 * time.Second)}
	if to.Scheme == "tls" {
		d.TLS, d.HandshakeTimeout = r.back, d.Timeout
	}
	return d
}

// PoolOf is where connections to an upstream wait.
func (r *Route) PoolOf(to config.Address) *server.Pool {
	if to.Scheme == "tls" {
		return r.secret
	}
	return r.Pool
}

// Introduce is the header by which an upstream learns whose connection it is; nil: none is wanted.
func (r *Route) Introduce(c *conn.Conn) *proxyproto.Header {
	if r.ProxyTo == 0 {
		return nil
	}
	from, to := address(c.RemoteAddr()), address(c.LocalAddr())
	h := &proxyproto.Header{Version: r.ProxyTo, Command: proxyproto.Proxy}
	switch {
	case !from.IsValid() || !to.IsValid(): // a Unix socket's ends mean nothing elsewhere
		h.Command = proxyproto.Local
	case from.Addr().Is4() && to.Addr().Is4():
		h.Transport, h.Source, h.Destination = proxyproto.TCP4, from, to
	default:
		six := func(a netip.AddrPort) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
		}
		h.Transport, h.Source, h.Destination = proxyproto.TCP6, six(from), six(to)
	}
	return h
}

func address(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// Source is the address that a client is told apart by; invalid for a Unix socket.
func Source(remote net.Addr) netip.Addr { return address(remote).Addr() }

// Tries is how many upstreams are tried at most.
func (r *Route) Tries() int { return 1 + max(0, cmp.Or(r.Retries, 2)) }

// Connect establishes a connection to an upstream for an ordinary goroutine.
func (r *Route) Connect(ctx context.Context, to config.Address) (net.Conn, error) {
	d := r.Dialer(to)
	if r.ProxyTo != 0 {
		d.Proxy = &proxyproto.Header{Version: r.ProxyTo, Command: proxyproto.Local} // on nobody's behalf
	}
	if to.Scheme == "tls" {
		return d.DialTLSContext(ctx, to.Network(), to.Host)
	}
	return d.DialContext(ctx, to.Network(), to.Host)
}
