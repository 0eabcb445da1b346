package packet_test

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

func udp(t *testing.T) *net.UDPConn {
	pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	return pc
}

// A packet socket works in a bubble of testing/synctest, whether the group's workers are inside or
// outside.
func TestAPacketSocketInABubble(t *testing.T) {
	for name, outside := range map[string]bool{"workers inside": false, "workers outside": true} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				conntest.Guard(t)
				cfg := conn.Config{}
				cfg.Reactor.Backend = backend
				var g *conn.Group
				start := func() {
					var err error
					g, err = conn.NewGroup(cfg, sched.Config{Workers: 1})
					require.NoError(t, err)
					require.NoError(t, g.Runtime().Start())
				}
				if outside {
					start()
				}
				synctest.Test(t, func(t *testing.T) {
					if !outside {
						start()
					}
					pc := udp(t)
					s, err := packet.ListenSocket(g, pc)
					require.NoError(t, err)
					require.NoError(t, pc.Close())
					peer := udp(t)
					p := make([]byte, 16)
					for range 3 {
						_, err = s.WriteTo([]byte("there"), peer.LocalAddr())
						require.NoError(t, err)
						n, _, err := peer.ReadFrom(p)
						require.NoError(t, err)
						require.Equal(t, "there", string(p[:n]))
						read := make(chan string)
						go func() {
							n, _, err := s.ReadFrom(p)
							require.NoError(t, err)
							read <- string(p[:n])
						}()
						_, err = peer.WriteTo([]byte("back"), s.LocalAddr())
						require.NoError(t, err)
						require.Equal(t, "back", <-read)
						require.NoError(t, s.SetReadDeadline(time.Now().Add(5*time.Millisecond)))
						_, _, err = s.ReadFrom(p)
						require.ErrorIs(t, err, os.ErrDeadlineExceeded)
						require.NoError(t, s.SetReadDeadline(time.Time{}))
						require.NoError(t, s.SetReadBuffer(1<<16))
					}
					if outside {
						time.Sleep(time.Hour)
						synctest.Wait()
					}
					read := make(chan error)
					go func() { _, _, err := s.ReadFrom(p); read <- err }()
					require.NoError(t, s.Close())
					require.ErrorIs(t, <-read, net.ErrClosed)
					require.NoError(t, peer.Close())
					require.NoError(t, g.Close())
				})
			})
		})
	}
}
