package conn_test

import (
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestSignalsDoNotDisturbAnEcho(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGUSR1)
		defer signal.Stop(got)
		f := serve(t, backend, workers, funcs{data: echo})
		stop, stopped := make(chan struct{}), make(chan struct{})
		var fired atomic.Int64
		go func() {
			defer close(stopped)
			for {
				threads, _ := os.ReadDir("/proc/self/task")
				for _, th := range threads {
					tid, _ := strconv.Atoi(th.Name())
					if syscall.Tgkill(syscall.Getpid(), tid, syscall.SIGUSR1) == nil {
						fired.Add(1)
					}
				}
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
			}
		}()
		for fired.Load() <= 50 { // they are to come while bytes flow
			f.each(8, func(i int, c net.Conn) error {
				r := rand.New(rand.NewPCG(uint64(i), 61))
				for range 30 {
					if err := roundTrip(c, r, piece(r, 1+r.IntN(20<<10))); err != nil {
						return err
					}
				}
				return nil
			})
		}
		close(stop)
		conntest.Receive(t, stopped)
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Zero(t, f.log.Count("ERROR"), "%v", f.log)
	})
}
