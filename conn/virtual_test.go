package conn_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// newVirtual is a fixture whose workers' time stands still until nothing can run.
func newVirtual(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, log: &conntest.Log{}, audit: &audit{}}
	cfg := conn.Config{Logger: f.log.Logger()}
	cfg.Reactor.Backend = backend
	for _, c := range configure {
		c(&cfg)
	}
	var err error
	f.Group, err = conn.NewGroup(cfg, sched.Config{Workers: workers, Paused: true})
	require.NoError(t, err)
	t.Cleanup(f.close)
	return f
}

// A virtual clock begins with 0 and stands still, and a listener needs two ticks for its end.
func TestAListenerClosesOnAVirtualClock(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newVirtual(t, backend, workers)
		for range 2 {
			l := f.listenTo(f.audit.of(funcs{data: echo}))
			c := f.dial()
			write(t, c, "hello")
			require.Equal(t, "hello", string(read(t, c, 5)))
			require.NoError(t, c.Close())
			require.NoError(t, l.Close())
			ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
			require.NoError(t, l.Wait(ctx), "the listener's task does not end")
			cancel()
		}
	})
}

// A peer that takes nothing is noticed although it has taken nothing since the clock's beginning.
func TestAWriteTimesOutOnAVirtualClock(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := newVirtual(t, backend, 1, func(cfg *conn.Config) { cfg.WriteTimeout = time.Hour })
		l := f.listen("tcp", "127.0.0.1:0", funcs{close: tell, data: func(c *conn.Conn) error {
			_, _ = c.Discard(-1)
			_, err := c.Write(make([]byte, 15<<20)) // the hour passes at once: the peer must be connected
			return err
		}})
		write(t, f.dial(), "x")
		require.ErrorIs(t, conntest.Receive(t, closed), os.ErrDeadlineExceeded)
		require.NoError(t, l.Close())
	})
}
