package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// What a dial cannot do is an error that says so, and never done without.
func TestDialsRefuseWhatTheyCannotDo(t *testing.T) {
	_, pool := certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		secret := server.Dialer{TLS: &tls.Config{RootCAs: pool}}
		proxied := server.Dialer{Proxy: &proxyproto.Header{Command: proxyproto.Local}}
		for name, test := range map[string]struct {
			dialer        server.Dialer
			network, addr string
			packets       bool
		}{
			"DialContext with TLS":              {secret, "tcp", l.Addr().String(), false},
			"DialContext with TLS, UDP":         {secret, "udp", "127.0.0.1:9", false},
			"DialContext with Proxy, UDP":       {proxied, "udp", "127.0.0.1:9", false},
			"DialPacketHandler with TLS":        {secret, "udp", "127.0.0.1:9", true},
			"DialPacketHandler with Proxy":      {proxied, "udp", "127.0.0.1:9", true},
			"DialContext with TLS, Unix socket": {secret, "unix", "/nowhere", false},
		} {
			t.Run(name, func(t *testing.T) {
				c := newClient(t, backend, 1, false)
				d := test.dialer
				d.Group, d.Resolver, d.Threads = c.Group, c.names, c.Threads
				dial := func(ctx context.Context) (err error) {
					if test.packets {
						_, err = d.DialPacketHandler(ctx, test.network, test.addr, packetEcho{})
					} else {
						_, err = d.DialContext(ctx, test.network, test.addr)
					}
					return err
				}
				err := dial(t.Context())
				require.ErrorIs(t, err, errors.ErrUnsupported)
				var op *net.OpError
				require.ErrorAs(t, err, &op)
				require.Equal(t, "dial", op.Op)
				require.Zero(t, c.group.Len(), "nothing was begun")
			})
		}
		require.Zero(t, l.accepted())
	})
}
