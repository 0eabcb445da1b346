//go:build race

package packet_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A baton is a variable that the side with the turn changes. The turn goes to and fro through a
// connection, and nothing else orders the accesses. So the race detector reports each path of bytes
// that makes no happens-before edge.
type baton struct {
	turns int
	size  int // of the message that passes the turn
}

const batonRounds = 20

// drive is the side that begins.
func (b *baton) drive(t *testing.T, c io.ReadWriter) {
	t.Helper()
	p := make([]byte, b.size)
	for range batonRounds {
		b.turns++
		_, err := c.Write(p)
		require.NoError(t, err)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
	}
	b.turns++
	require.Equal(t, 2*batonRounds+1, b.turns)
}

func TestDatagramsAreOrderedByTheirSockets(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, open := range map[string]func(*fixture, *baton, *net.UDPConn) error{
			"handler": func(f *fixture, b *baton, pc *net.UDPConn) error {
				_, err := packet.Listen(f, pc, &funcs{lives: &audit{}, packets: func(c *packet.Conn, batch []packet.Packet) error {
					b.turns++
					return c.WriteTo(batch[0].Data, batch[0].From)
				}})
				return err
			},
			"socket": func(f *fixture, b *baton, pc *net.UDPConn) error {
				s, err := packet.ListenSocket(f, pc)
				if err != nil {
					return err
				}
				go func() {
					p := make([]byte, b.size)
					for {
						_, from, err := s.ReadFromUDPAddrPort(p)
						if err != nil {
							return
						}
						b.turns++
						_, _ = s.WriteToUDPAddrPort(p, from)
					}
				}()
				return nil
			},
		} {
			t.Run(name, func(t *testing.T) {
				f, b := newFixture(t, backend, 1), &baton{size: 100}
				pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
				require.NoError(t, err)
				defer pc.Close()
				require.NoError(t, open(f, b, pc))
				c := udpClient(t, pc.LocalAddr().(*net.UDPAddr).AddrPort()) // connected: package net makes edges for no others
				defer c.Close()
				b.drive(t, c)
			})
		}
	})
}
