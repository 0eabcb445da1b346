package packet_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A connected socket counts as dialed, whichever function serves it. So it works while accepted
// connections end.
func TestAConnectedSocketOutlastsThoseThatListen(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
		to := peer.LocalAddr().(*net.UDPAddr)
		for name, serve := range map[string]func(f *fixture, h packet.Handler) (packet.Handle, error){
			"Dial": func(f *fixture, h packet.Handler) (packet.Handle, error) { return packet.Dial(f, to.AddrPort(), h) },
			"Listen": func(f *fixture, h packet.Handler) (packet.Handle, error) {
				pc, err := net.DialUDP("udp4", nil, to)
				require.NoError(t, err)
				defer pc.Close()
				return packet.Listen(f, pc, h)
			},
		} {
			t.Run(name, func(t *testing.T) {
				f, lives := packetFixture(t, backend, workers)
				got, ended := make(chan string, 1), make(chan error, 1)
				h, err := serve(f, &funcs{lives: lives, close: func(_ *packet.Conn, err error) { ended <- err },
					packets: func(_ *packet.Conn, batch []packet.Packet) error {
						got <- string(batch[0].Data)
						return nil
					}})
				require.NoError(t, err)
				servePackets(t, f, &funcs{lives: lives})
				require.NoError(t, f.ShutdownServed(t.Context()))
				require.Equal(t, 1, f.Len(), "the connected socket")
				require.NoError(t, h.Send([]byte("to the peer"), netip.AddrPort{}))
				_, from, err := peer.ReadFrom(make([]byte, 100))
				require.NoError(t, err)
				_, err = peer.WriteTo([]byte("back"), from)
				require.NoError(t, err)
				require.Equal(t, "back", conntest.Receive(t, got))
				require.NoError(t, f.Shutdown(t.Context()))
				require.NoError(t, conntest.Receive(t, ended))
			})
		}
	})
}
