package interop

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// A side is how a server is reached: with TLS or without, on a backend.
type side struct {
	backend    string
	of, client *tls.Config // nil: without TLS
}

// onSides runs a test on each backend, without TLS and with it. next are for ALPN.
func onSides(t *testing.T, next []string, test func(t *testing.T, s side)) {
	of, client := certificate(t)
	of.NextProtos = next
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, s := range []side{{backend, nil, nil}, {backend, of, client}} {
			name := "plain"
			if s.of != nil {
				name = "TLS"
			}
			t.Run(name, func(t *testing.T) {
				conntest.Guard(t)
				test(t, s)
			})
		}
	})
}

// certificate is one for the loopback address, made for this run.
func certificate(t testing.TB) (of, client *tls.Config) {
	t.Helper()
	cert, pool := conntest.Certificate(t)
	return &tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{RootCAs: pool}
}

// listen returns a listener whose connections are Suiro's, for goroutines. Its server closes them
// before the end of the test.
func (s side) listen(t *testing.T) net.Listener {
	t.Helper()
	ours := &server.Server{Backend: s.backend, TLS: s.of}
	ln, err := ours.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ours.Close()) })
	return ln
}

// A way is how net/http is served by Suiro.
var ways = map[string]func(s side, t *testing.T, h http.Handler) (addr string){
	"server.Listen": side.overListener,
	"server.HTTP":   side.overWorkers,
}

// overListener serves our listener by net/http's server.
func (s side) overListener(t *testing.T, h http.Handler) string {
	t.Helper()
	ln := s.listen(t)
	hs := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	t.Cleanup(func() {
		_ = hs.Close()
		require.ErrorIs(t, conntest.Receive(t, served), http.ErrServerClosed)
	})
	return ln.Addr().String()
}

// overWorkers is server.HTTP.
func (s side) overWorkers(t *testing.T, h http.Handler) string {
	t.Helper()
	listening := make(chan net.Addr, 1)
	ours := &server.Server{Addr: "127.0.0.1:0", Backend: s.backend, TLS: s.of, Handler: server.HTTP(h), Listening: func(a net.Addr) { listening <- a }}
	served := make(chan error, 1)
	go func() { served <- ours.ListenAndServe() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = ours.Shutdown(ctx)
		_ = ours.Close()
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	})
	return conntest.Receive(t, listening).String()
}
