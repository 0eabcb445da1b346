package packet_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// Where the kernel refuses segments, joined datagrams are sent singly.
func TestJoinedDatagramsAreSentSinglyWhereTheKernelRefusesSegments(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 10)
		h := &funcs{lives: lives, fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }}
		h.open = func(c *packet.Conn) error { return packet.NoChecksums(c) }
		handle, _ := servePackets(t, f, h)
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		for round := range 3 {
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				for i := range 20 {
					require.NoError(t, c.WriteTo(noise[i:i+100], to))
				}
				require.NoError(t, c.WriteSegments(noise[20:20+250], 100, to))
				if round == 2 {
					require.NoError(t, c.Close(), "what has to be sent again is sent before the end")
				}
			}))
			p := make([]byte, 200)
			require.NoError(t, sink.SetReadDeadline(time.Now().Add(conntest.Patience)))
			for i := range 20 {
				n, err := sink.Read(p)
				require.NoError(t, err)
				require.Equal(t, noise[i:i+100], p[:n])
			}
			for rest := noise[20 : 20+250]; len(rest) > 0; {
				n, err := sink.Read(p)
				require.NoError(t, err)
				require.Equal(t, rest[:n], p[:n])
				rest = rest[n:]
			}
		}
		require.Empty(t, fails)
	})
}
