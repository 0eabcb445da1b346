package conn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A lateContext is canceled when its end is asked for, once a condition holds.
type lateContext struct {
	context.Context
	cancel func()
	t      *testing.T
	cond   func() bool
}

func (c lateContext) Done() <-chan struct{} {
	conntest.Eventually(c.t, c.cond)
	c.cancel()
	return c.Context.Done()
}

// A dial that is canceled as it succeeds leaves nothing in the budget of MaxMemory, though its
// socket may have received already.
func TestADialThatIsCanceledAsItSucceedsLeavesTheBudget(t *testing.T) {
	const greeting = 1000
	conntest.Backends(t, func(t *testing.T, backend string) {
		there := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			_, err := c.Write(noise[:greeting])
			return err
		}})
		f := newFixture(t, backend, 1, func(cfg *conn.Config) { cfg.MaxMemory = 1 << 20 })
		for canceled := 0; canceled < 5; {
			ctx, cancel := context.WithCancel(context.Background())
			s, err := f.DialSocketContext(lateContext{ctx, cancel, t, func() bool { return f.Buffered() >= greeting }}, there.addr)
			if err == nil { // it had both to choose from
				require.NoError(t, s.Close())
			} else {
				require.ErrorIs(t, err, context.Canceled)
				canceled++
			}
			conntest.Eventually(t, func() bool { return f.Buffered() == 0 }, "the memory budget still has what was received")
		}
	})
}

func TestADialWithANilContextIsMisuse(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 1, funcs{data: echo})
		var none context.Context
		_, err := f.DialSocketContext(none, f.addr)
		require.ErrorIs(t, err, sched.ErrMisuse)
	})
}
