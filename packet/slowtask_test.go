package packet_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

func TestASlowPacketHandlerIsReportedWhileItRuns(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		told := make(chan sched.SlowTask, 1)
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: workers, SlowTask: time.Millisecond, Hooks: sched.Hooks{SlowTask: func(s sched.SlowTask) {
			if s.Peer != "" { // the peer of the dialed socket
				select {
				case told <- s:
				default:
				}
			}
		}}})
		require.NoError(t, err)
		defer func() {
			g.Abort()
			require.NoError(t, g.Wait(t.Context()))
			require.NoError(t, g.Close())
		}()
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		done := make(chan sched.SlowTask)
		_, err = packet.Dial(g, peer.LocalAddr().(*net.UDPAddr).AddrPort(), &funcs{lives: &audit{}, open: func(*packet.Conn) error {
			done <- <-told
			return nil
		}})
		require.NoError(t, err)
		s := conntest.Receive(t, done, "the handler is reported while it runs")
		require.Equal(t, "*packet_test.funcs", s.Handler)
		require.Equal(t, peer.LocalAddr().String(), s.Peer)
	})
}
