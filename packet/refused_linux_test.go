package packet_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// The error of a refused datagram has its destination. Other datagrams are not affected.
func TestARefusedDatagramIsReportedWithItsDestination(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 10)
		p := make([]byte, 100)
		six := &funcs{lives: lives, fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }}
		handle, _ := servePacketsOn(t, f, "udp6", "[::1]:0", six)
		sink := listenUDP(t, "udp6", "[::1]:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		require.NoError(t, handle.Do(func(c *packet.Conn) {
			require.NoError(t, packet.NeverFragment(c))
			require.NoError(t, c.WriteTo([]byte("before"), to))
			require.NoError(t, c.WriteTo(make([]byte, 65520), to))
			require.NoError(t, c.WriteTo([]byte("after"), to))
		}))
		for _, want := range []string{"before", "after"} {
			require.NoError(t, sink.SetReadDeadline(time.Now().Add(conntest.Patience)))
			n, err := sink.Read(p)
			require.NoError(t, err)
			require.Equal(t, want, string(p[:n]))
		}
		err := conntest.Receive(t, fails)
		requireOpError(t, err, "write", syscall.EMSGSIZE)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, to.String(), op.Addr.String())
		require.Empty(t, fails)
	})
}
