package server_test

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A dial that would ignore TLS or Proxy returns an error that says what to do. Nothing is sent.
func TestDialsRefuseWhatTheyWouldIgnore(t *testing.T) {
	_, pool := conntest.Certificate(t)
	secret := server.Dialer{TLS: &tls.Config{RootCAs: pool}}
	proxied := server.Dialer{Proxy: &proxyproto.Header{Command: proxyproto.Local}}
	dialContext := func(c *client, d server.Dialer, network, addr string) error {
		_, err := d.DialContext(c.t.Context(), network, addr)
		return err
	}
	dialPacket := func(c *client, d server.Dialer, network, addr string) error {
		_, err := sched.Go(c.group.Runtime(), func(cx *sched.Context) (server.PacketHandle, error) {
			return d.DialPacket(cx, network, addr, packetEcho{})
		}).Wait(c.t.Context())
		return err
	}
	dialPacketContext := func(c *client, d server.Dialer, network, addr string) error {
		_, err := d.DialPacket(c.t.Context(), network, addr, packetEcho{})
		return err
	}
	dialPacketFuture := func(c *client, d server.Dialer, network, addr string) error {
		_, err := sched.Block(c.t.Context(), c.group.Runtime(), d.DialPacketFuture(network, addr, packetEcho{}))
		return err
	}
	dialTLS := func(c *client, d server.Dialer, network, addr string) error {
		_, err := d.DialTLSContext(c.t.Context(), network, addr)
		return err
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		for name, test := range map[string]struct {
			dialer        server.Dialer
			network, addr string
			dial          func(c *client, d server.Dialer, network, addr string) error
			advice        string
		}{
			"DialContext with TLS":                 {secret, "tcp", l.Addr().String(), dialContext, "use DialTLSContext"},
			"DialContext with TLS, Unix socket":    {secret, "unix", "/nowhere", dialContext, "use DialTLSContext"},
			"DialContext with TLS, UDP":            {secret, "udp", "127.0.0.1:9", dialContext, "use a Dialer without TLS"},
			"DialContext with Proxy, UDP":          {proxied, "udp", "127.0.0.1:9", dialContext, "use a Dialer without it"},
			"DialPacket with TLS":                  {secret, "udp", "127.0.0.1:9", dialPacket, "use a Dialer without TLS"},
			"DialPacket with Proxy":                {proxied, "udp", "127.0.0.1:9", dialPacket, "use a Dialer without it"},
			"DialPacket in a goroutine with TLS":   {secret, "udp", "127.0.0.1:9", dialPacketContext, "use a Dialer without TLS"},
			"DialPacket in a goroutine with Proxy": {proxied, "udp", "127.0.0.1:9", dialPacketContext, "use a Dialer without it"},
			"DialPacketFuture with TLS":            {secret, "udp", "127.0.0.1:9", dialPacketFuture, "use a Dialer without TLS"},
			"DialTLSContext, UDP":                  {server.Dialer{}, "udp", "127.0.0.1:9", dialTLS, "or tcp"},
			"DialTLSContext with TLS, UDP":         {secret, "udp", "127.0.0.1:9", dialTLS, "or tcp"},
		} {
			t.Run(name, func(t *testing.T) {
				c := newClient(t, backend, 1, false)
				d := test.dialer
				d.Group, d.Resolver, d.Threads = c.Group, c.names, c.Threads
				err := test.dial(c, d, test.network, test.addr)
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.ErrorContains(t, err, test.advice)
				var op *net.OpError
				require.ErrorAs(t, err, &op)
				require.Equal(t, "dial", op.Op)
				require.Zero(t, c.group.Len(), "nothing was begun")
			})
		}
		require.Zero(t, l.accepted())
	})
}
