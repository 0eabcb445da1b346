package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bubble"
)

// checkTLS looks for what tls.Listen looks for.
func (s *Server) checkTLS() error {
	if c := s.TLS; c == nil || len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil {
		return nil
	}
	return errors.New("server: TLS has no certificate; set Certificates, GetCertificate or GetConfigForClient")
}

// overTLS is the handler within TLS, if that is wanted. There is one for all of the server's
// listeners, so that they have MaxHandshakes together.
func (s *Server) overTLS(h Handler) Handler {
	if s.TLS == nil || h == nil {
		return h
	}
	cfg := conn.TLSConfig{Config: s.TLS, Timeout: s.HandshakeTimeout, MaxHandshakes: s.MaxHandshakes}
	if s.needs.TLS != nil {
		cfg.Config = cfg.Config.Clone()
		s.needs.TLS(&cfg)
	}
	return conn.ServeTLS(cfg, h)
}

// overTLS is the same for a connection that is dialled.
func (d *Dialer) overTLS(network, addr string, h Handler) Handler {
	if d.TLS == nil {
		return h
	}
	return conn.ConnectTLS(conn.TLSConfig{Config: d.configFor(network, addr), Timeout: d.HandshakeTimeout}, h)
}

// configFor is TLS with a ServerName.
func (d *Dialer) configFor(network, addr string) *tls.Config {
	cfg := d.TLS
	switch {
	case cfg == nil:
		cfg = new(tls.Config)
	case cfg.ServerName != "" || network == "unix":
		return cfg
	default:
		cfg = cfg.Clone()
	}
	if host, _, err := net.SplitHostPort(addr); err == nil {
		cfg.ServerName = host
	}
	return cfg
}

// DialTLSContext is DialContext with crypto/tls over it, hands shaken: the connection is a
// *tls.Conn, of Dialer.TLS, or the zero tls.Config, whose ServerName is the host of the
// address unless it is set. It is what http.Transport.DialTLSContext wants.
func (d *Dialer) DialTLSContext(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.dialPlain(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, d.configFor(network, addr))
	hctx, cancel := ctx, context.CancelFunc(func() {})
	if d.HandshakeTimeout >= 0 {
		hctx, cancel = context.WithTimeout(ctx, cmp.Or(d.HandshakeTimeout, 10*time.Second))
	}
	defer cancel()
	hctx, release := bubble.Context(hctx)
	defer release()
	if err := c.HandshakeContext(hctx); err != nil {
		_ = raw.Close()
		if hctx.Err() != nil {
			return nil, d.ended(network, addr, hctx.Err())
		}
		return nil, err
	}
	return c, nil
}
