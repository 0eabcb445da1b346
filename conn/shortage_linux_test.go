package conn_test

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
)

// Each byte comes back once and in its place: an operation that was submitted twice would
// send twice, and one that was lost would leave its connection waiting.
func TestTheServerOutlivesAShortageOfKernelMemory(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOMEM, syscall.ENOBUFS} {
		t.Run(errno.Error(), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				if backend != "io_uring" {
					t.Skip("only io_uring_enter takes operations")
				}
				plan := conntest.Faults(t, faults.Rule{Call: faults.Wait, Errno: errno, Every: 1, Most: 4},
					faults.Rule{Call: faults.Wait, Errno: errno, Every: 7})
				var told atomic.Uint64
				f := serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) {
					faults.Into(&cfg.Reactor, plan)
					cfg.Reactor.OnShortage = func(err error, pause time.Duration) {
						if !errors.Is(err, errno) || pause <= 0 {
							t.Errorf("told of %v, pause %v", err, pause)
						}
						told.Add(1)
					}
				})
				const n = 40
				f.each(n, func(i int, c net.Conn) error {
					r := rand.New(rand.NewPCG(uint64(i), 30))
					return roundTrip(c, r, piece(r, 1+r.IntN(200<<10)))
				})
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
				require.EqualValues(t, n, f.audit.closed.Load())
				plan.Stop()
				require.Greater(t, plan.Injected(faults.Wait, errno), 4)
				conntest.Eventually(t, func() bool { return f.Shortages() == uint64(plan.Injected(faults.Wait, errno)) })
				conntest.Eventually(t, func() bool { return told.Load() == f.Shortages() })
				require.Positive(t, f.log.Count("the kernel lacks memory"))
				require.Zero(t, f.log.Count("ERROR"), "%v", f.log)
			})
		})
	}
}
