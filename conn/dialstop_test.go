package conn_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A dial that meets Stop is refused, or its connection ends before the workers do.
func TestADialThatMeetsStopIsRefusedOrEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln := conntest.Listen(t)
		for range 100 {
			cfg := conn.Config{}
			cfg.Reactor.Backend = backend
			g, err := conn.NewGroup(cfg, sched.Config{Workers: 1})
			require.NoError(t, err)
			require.NoError(t, g.Runtime().Start())
			var begun, ended atomic.Int64
			h := funcs{close: func(*conn.Conn, error) { ended.Add(1) }}
			var dialing sync.WaitGroup
			for range 2 {
				dialing.Go(func() {
					for range 1000 {
						if _, err := g.Dial(ln.Addr(), h); err != nil {
							return
						}
						begun.Add(1)
					}
				})
			}
			require.NoError(t, g.Stop(t.Context()))
			dialing.Wait()
			require.Equal(t, begun.Load(), ended.Load(), "each that was not refused has ended")
			require.Zero(t, g.Len())
		}
	})
}

// Wait looks at the listener first: an ended context makes no difference to one that has ended.
func TestWaitOfAListenerThatHasEndedIsNil(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		l := f.listen("tcp", "127.0.0.1:0", funcs{})
		require.NoError(t, l.Close())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			require.NoError(t, l.Wait(ended))
		}
	})
}
