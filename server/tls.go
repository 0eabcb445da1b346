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

// checkTLS makes the checks of tls.Listen. It also refuses to serve HTTP in plain text where the
// program has certificates for it in the wrong place.
func (s *Server) checkTLS() error {
	if s.TLS != nil && !hasCertificate(s.TLS) {
		return errors.New("server: TLS has no certificate; set Certificates, GetCertificate or GetConfigForClient")
	}
	if h, ok := conn.As[*httpHandler](s.Handler); ok && s.TLS == nil && h.srv.TLSConfig != nil && hasCertificate(h.srv.TLSConfig) {
		return errors.New("server: the http.Server has certificates in TLSConfig, which is not used; set Server.TLS")
	}
	return nil
}

func hasCertificate(c *tls.Config) bool {
	return len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil
}

// overTLS returns the handler with TLS around it, if TLS is set. All of the server's listeners
// share one, so that MaxHandshakes applies to them together.
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

// overTLS returns the handler of a dialed connection with TLS around it, if TLS is set.
func (d *Dialer) overTLS(network, addr string, h Handler) Handler {
	if d.TLS == nil {
		return h
	}
	return conn.ConnectTLS(conn.TLSConfig{Config: d.configFor(network, addr), Timeout: d.HandshakeTimeout}, h)
}

// configFor returns the TLS configuration with a ServerName.
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

// DialTLSContext is DialContext with a TLS handshake, which is complete when it returns. The
// connection is a *tls.Conn over that of DialContext, configured by Dialer.TLS or the zero
// tls.Config. Without a ServerName it is the host of the address. The method fits
// http.Transport.DialTLSContext. For UDP the error matches errors.ErrUnsupported.
func (d *Dialer) DialTLSContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if isPacketNetwork(network) {
		return nil, d.opError(network, addr, errDatagrams)
	}
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
			err = hctx.Err()
		}
		return nil, d.ended(network, addr, err)
	}
	return c, nil
}
