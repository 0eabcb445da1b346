//go:build !race && !kqueue

package packet_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// Receives that wait, and sends, allocate nothing, neither of single datagrams nor of batches.
func TestATaskAllocatesNothingPerDatagram(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" && backend != "epoll" {
			t.Skip("the bound is for the reactors of Linux; the emulated kqueue allocates itself")
		}
		for name, echo := range map[string]func(s *packet.UDPSocket) func(cx *sched.Context) error{
			"single":  echoTask,
			"batches": echoBatches,
			"batches with infos": func(s *packet.UDPSocket) func(cx *sched.Context) error {
				wantInfos(t, s)
				return echoBatches(s)
			},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, backend, 1)
				s := listenTaskUDP(t, f)
				ended := inTask(f, echo(s))
				c := udpClient(t, s.LocalAddr())
				p := make([]byte, 1000)
				require.Zero(t, leastAllocs(func() {
					if _, err := c.Write(p); err != nil {
						t.Error(err)
					}
					if _, err := c.Read(p); err != nil {
						t.Error(err)
					}
				}))
				require.NoError(t, s.Close())
				<-ended
			})
		}
	})
}

// leastAllocs is how much f allocates, in the best of a few measurements. Other goroutines of this
// process only add to it.
func leastAllocs(f func()) float64 {
	least := math.Inf(1)
	for i := 0; i < 5 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(500, f))
	}
	return least
}

// wantInfos makes a socket report everything that its system can.
func wantInfos(t testing.TB, s reporter) {
	require.NoError(t, s.WantDestination(true))
	for _, want := range []func(bool) error{s.WantECN, s.WantTTL, s.WantTimes} {
		if err := want(true); err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported)
		}
	}
}

// A handler that asks for infos, and one that does not, allocate nothing.
func TestAHandlerAllocatesNothingPerDatagram(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" && backend != "epoll" {
			t.Skip("the bound is for the reactors of Linux")
		}
		for name, open := range map[string]func(c *packet.Conn) error{
			"plain":      nil,
			"with infos": func(c *packet.Conn) error { wantInfos(t, c); return nil },
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, backend, 1)
				_, at := servePackets(t, f, infoEcho{open: open})
				c := udpClient(t, at)
				p := make([]byte, 1000)
				echo := func() {
					if _, err := c.Write(p); err != nil {
						t.Error(err)
					}
					if _, err := c.Read(p); err != nil {
						t.Error(err)
					}
				}
				echo()
				require.Zero(t, leastAllocs(echo))
			})
		}
	})
}

// An infoEcho echoes datagrams with times if it has asked for them, and without if it has not.
type infoEcho struct {
	packet.Base
	open func(c *packet.Conn) error
}

func (h infoEcho) OnOpen(c *packet.Conn) error {
	if h.open != nil {
		return h.open(c)
	}
	return nil
}

func (h infoEcho) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	if batch[0].Time().IsZero() == (h.open != nil) {
		return nil
	}
	return echoPackets(c, batch)
}
