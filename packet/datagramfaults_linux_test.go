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
		"dropped":     {{Call: faults.Complete, Errno: syscall.EBADR, Every: 7}},
	} {
		for kind, echo := range map[string]func(*packet.UDPSocket) func(*sched.Context) error{"single": echoTask, "batches": echoBatches} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
					if name == "dropped" && backend != "io_uring" {
						t.Skip("only io_uring has completions to drop")
					}
					plan := conntest.Faults(t, rules...)
					f := newFixture(t, backend, workers, func(cfg *conn.Config) { cfg.Reactor.Faults = plan })
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
