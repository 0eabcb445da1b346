package packet_test

import (
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// Tasks do not notice transient errors: each datagram is answered once.
func TestTasksAnswerEveryDatagramUnderFaults(t *testing.T) {
	for name, rules := range map[string][]faults.Rule{
		"interrupted": conntest.Fail(syscall.EINTR, 0.4, faults.RecvFrom, faults.SendTo, faults.Wait),
		"not ready":   conntest.Fail(syscall.EAGAIN, 0.4, faults.RecvFrom, faults.SendTo),
		"short":       conntest.Fail(0, 0.4, faults.RecvFrom, faults.SendTo),
		"dropped":     conntest.Fail(syscall.EBADR, 0.1, faults.Complete), // not each seventh: that may always be one of a salvage
	} {
		for kind, echo := range map[string]func(*packet.UDPSocket) func(*sched.Context) error{"single": echoTask, "batches": echoBatches} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
					if name == "dropped" && backend != "io_uring" {
						t.Skip("only io_uring has completions to drop")
					}
					plan := conntest.Faults(t, rules...)
					f := newFixture(t, backend, workers, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
					s := listenTaskUDP(t, f)
					inTask(f, echo(s))
					c := dialTaskUDP(t, f, s.LocalAddr())
					require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
						ms := make([]packet.Message[netip.AddrPort], 5)
						for i := range 40 {
							for j := range ms {
								ms[j].Data = numbered(i, j)
							}
							if _, err := c.SendBatch(cx, ms); err != nil {
								return err
							}
							p := make([]byte, 2000)
							for j := range ms {
								n, err := c.Recv(cx, p)
								if err != nil {
									return err
								}
								require.Equal(t, string(numbered(i, j)), string(p[:n]))
							}
						}
						return nil
					})))
				})
			})
		}
	}
}

// A receive that must wait tries once before it waits, and once after it.
func TestAReceiveThatWaitsTriesTwice(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, stackful := range []bool{true, false} {
			counts := faults.New(1, faults.Rule{Call: faults.RecvFrom, Errno: syscall.EINTR, Every: 2}) // one for each try but the first
			f := newFixture(t, backend, workers, func(c *conn.Config) { faults.Into(&c.Reactor, counts) })
			s := listenTaskUDP(t, f)
			c := dialTaskUDP(t, f, s.LocalAddr())
			p := make([]byte, 10)
			_, err := s.TryRecv(p)
			require.ErrorIs(t, err, packet.ErrWouldBlock)
			received := make(chan error, 1)
			if stackful {
				sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
					_, err := s.Recv(cx, p)
					received <- err
					return struct{}{}, nil
				}).Detach()
			} else {
				go func() { _, err := s.Recv(t.Context(), p); received <- err }()
			}
			conntest.Eventually(t, func() bool { return counts.Total() > 0 })
			require.NoError(t, c.Send(t.Context(), []byte("x")))
			require.NoError(t, conntest.Receive(t, received))
			require.Equal(t, 2, counts.Total())
		}
	})
}
