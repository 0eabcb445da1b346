package packet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Close of a group calls no OnClose. The sessions of its sockets count no longer all the same, so
// that Sessions which serve another group have all of their Max.
func TestSessionsOfAClosedGroupDoNotCount(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const most = 2
		sessions := &packet.Sessions{Max: most, Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			b := make([]byte, 16)
			for {
				n, err := p.Recv(cx, b)
				if err != nil {
					return nil // the session has ended
				}
				if err := p.Send(b[:n]); err != nil {
					return err
				}
			}
		})}
		for range 2 {
			g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 1})
			require.NoError(t, err)
			pc := listenUDP(t, "udp4", "127.0.0.1:0")
			handle, err := packet.Listen(g, pc, sessions)
			require.NoError(t, err)
			require.NoError(t, pc.Close())
			for range most {
				exchange(t, udpClient(t, handle.LocalAddr()), "hello")
			}
			require.Equal(t, most, sessions.Len())
			require.NoError(t, g.Close())
			require.Zero(t, sessions.Len())
		}
		require.Zero(t, sessions.Refused())
	})
}
