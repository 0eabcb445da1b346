package conn_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Streams within TLS pass the tests that package net's own connections have to pass.
func TestStreamsWithinTLSPassWhatNetsConnsDo(t *testing.T) {
	secret := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ln := conntest.Listen(t)
		accepted, dialed := make(chan *remote, 1), make(chan *remote, 1)
		l, err := f.Listen(ln, conn.ServeTLS(secret.server, conn.Sequential(serveRemotely(accepted))))
		require.NoError(t, err)
		defer l.Close()
		nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
			h := conn.ConnectTLS(conn.TLSConfig{Config: secret.client}, conn.Sequential(serveRemotely(dialed)))
			if _, err := f.Dial(l.Addr(), h); err != nil {
				return nil, nil, nil, err
			}
			a, b := <-accepted, <-dialed
			var once sync.Once
			return a, b, func() {
				once.Do(func() {
					for _, r := range []*remote{a, b} {
						_ = r.Close()
						r.reads.Close()
						r.writes.Close()
					}
				})
			}, nil
		})
	})
}
