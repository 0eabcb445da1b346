package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func echoStream(_ *sched.Context, s *server.Stream) error {
	_, err := io.Copy(s, s)
	return err
}

// dialTLS is a client of crypto/tls, of a server that listens at addr.
func dialTLS(t *testing.T, addr net.Addr, pool *x509.CertPool) *tls.Conn {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: conntest.Patience}, "tcp", addr.String(), &tls.Config{RootCAs: pool})
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestServersSpeakTLSWithEitherKindOfHandler(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, h := range map[string]server.Handler{"callbacks": echo{}, "sequential": server.Sequential(echoStream)} {
			t.Run(name, func(t *testing.T) {
				conntest.Guard(t)
				s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 2, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
				c := dialTLS(t, s.addr, pool)
				roundTrip(t, c, "hello")
				require.NoError(t, c.CloseWrite())
				p, err := io.ReadAll(c)
				require.NoError(t, err, "it ends with close-notify")
				require.Empty(t, p)
				_, err = s.dial().Write([]byte("GET / HTTP/1.1\r\n\r\n"))
				require.NoError(t, err)
				conntest.Eventually(t, func() bool { return s.log.Count("TLS handshake failed") == 1 })
			})
		}
	})
}

// The proxy's header comes before all else, in plaintext, from either side.
func TestTLSBeginsBehindTheProxysHeader(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		remote := make(chan string, 1)
		trust := proxyproto.Trust{Sources: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		s := run(t, &server.Server{Backend: backend, Workers: 2, TLS: &tls.Config{Certificates: []tls.Certificate{cert}},
			Proxy: &server.ProxyProtocol{Trust: trust}, Handler: server.Sequential(func(cx *sched.Context, s *server.Stream) error {
				remote <- s.RemoteAddr().String()
				return echoStream(cx, s)
			})})
		c := newClient(t, backend, 2, false)
		from := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:1234"))
		c.TLS = &tls.Config{RootCAs: pool}
		c.Proxy = &proxyproto.Header{Version: 2, Command: proxyproto.Proxy, Transport: proxyproto.TCP4, Source: from.AddrPort(), Destination: from.AddrPort()}
		h := newTold()
		handle, err := c.DialHandler(t.Context(), "tcp", s.addr.String(), h)
		require.NoError(t, err)
		require.Equal(t, from.String(), conntest.Receive(t, remote))
		use(t, handle, h, "hello")
	})
}

func TestDialersSpeakTLSWithHandlers(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
		c := newClient(t, backend, 2, false)
		c.TLS = &tls.Config{RootCAs: pool} // the name is that of the address
		h := newTold()
		handle, err := c.DialHandler(t.Context(), "tcp", s.addr.String(), h)
		require.NoError(t, err)
		use(t, handle, h, "hello")
		require.Empty(t, c.TLS.ServerName)

		_, port, _ := net.SplitHostPort(s.addr.String())
		c.names.hosts["elsewhere"] = []string{"127.0.0.1"}
		_, err = c.DialHandler(t.Context(), "tcp", "elsewhere:"+port, newTold())
		var bad *tls.CertificateVerificationError
		require.ErrorAs(t, err, &bad)

		h = newTold()
		handle, err = sched.Go(c.group.Runtime(), func(cx *sched.Context) (server.Handle, error) {
			return c.DialHandler(cx, "tcp", s.addr.String(), h)
		}).Wait(t.Context())
		require.NoError(t, err)
		use(t, handle, h, "again")
	})
}

// A server that says nothing is given up: with the context, or the time-out.
func TestADialersHandshakeIsBounded(t *testing.T) {
	ln := conntest.Listen(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		c := newClient(t, backend, 2, false)
		c.TLS = &tls.Config{}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := c.DialHandler(ctx, "tcp", ln.Addr().String(), newTold())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = c.DialTLSContext(ctx, "tcp", ln.Addr().String())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		c.HandshakeTimeout = 20 * time.Millisecond
		_, err = c.DialHandler(t.Context(), "tcp", ln.Addr().String(), newTold())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = c.DialTLSContext(t.Context(), "tcp", ln.Addr().String())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

// net/http's client, and HTTP/2 by ALPN.
func TestDialTLSContextIsOneForHTTP(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, next := range map[string][]string{"HTTP/1.1": nil, "HTTP/2.0": {"h2", "http/1.1"}} {
			t.Run(name, func(t *testing.T) {
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
				s.EnableHTTP2 = true
				s.StartTLS()
				defer s.Close()
				pool := x509.NewCertPool()
				pool.AddCert(s.Certificate())
				c := newClient(t, backend, 2, false)
				c.TLS = &tls.Config{RootCAs: pool, NextProtos: next}
				transport := &http.Transport{DialContext: c.DialContext, DialTLSContext: c.DialTLSContext, ForceAttemptHTTP2: next != nil}
				defer transport.CloseIdleConnections()
				resp, err := (&http.Client{Transport: transport, Timeout: conntest.Patience}).Get(s.URL)
				require.NoError(t, err)
				p, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, name, string(p))
				require.NoError(t, resp.Body.Close())
			})
		}
	})
}

func TestListenersForGoroutinesSpeakTLS(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	onListeners(t, func(t *testing.T, s *server.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
		ln := listen(t, s)
		hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })}
		served := make(chan error, 1)
		go func() { served <- hs.Serve(ln) }()
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
		resp, err := (&http.Client{Transport: transport, Timeout: conntest.Patience}).Get("https://" + ln.Addr().String())
		require.NoError(t, err)
		p, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "HTTP/2.0", string(p))
		require.NoError(t, resp.Body.Close())
		transport.CloseIdleConnections()
		require.NoError(t, hs.Shutdown(t.Context()))
		require.ErrorIs(t, conntest.Receive(t, served), http.ErrServerClosed)
	})
}

// A pooled connection has made its handshake once.
func TestPooledConnectionsKeepTheirTLS(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
		c := newClient(t, backend, 2, false)
		c.TLS = &tls.Config{RootCAs: pool}
		p := &pooling{Pool: &server.Pool{Dialer: c.Dialer}, client: c, t: t}
		t.Cleanup(func() { _ = p.Pool.Close() })
		for range 3 {
			h := newTold()
			handle, err := p.Get(t.Context(), "tcp", s.addr.String(), h)
			require.NoError(t, err)
			use(t, handle, h, "hello")
			p.put(handle)
		}
		require.EqualValues(t, 1, p.Stats().Dials)
	})
}

// Shutdown waits for those that are shaking hands no longer than for others.
func TestShutdownEndsHandshakes(t *testing.T) {
	cert, _ := conntest.Certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
		c := s.dial()
		conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
		require.NoError(t, s.Shutdown(t.Context()))
		_, err := io.ReadAll(c)
		require.True(t, err == nil || errors.Is(err, net.ErrClosed), err)
	})
}

func TestAServerWithoutACertificateDoesNotStart(t *testing.T) {
	s := &server.Server{Addr: "127.0.0.1:0", Handler: echo{}, TLS: &tls.Config{}}
	require.ErrorContains(t, s.ListenAndServe(), "TLS has no certificate")
	_, err := s.Listen("tcp", "127.0.0.1:0")
	require.ErrorContains(t, err, "TLS has no certificate")
}
