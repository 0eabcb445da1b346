//go:build !explore

package chanx_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// A closer is the sending side of a channel, with a function that ends the receiving side.
type closer struct {
	closed   func(ctx context.Context) error
	future   func() sched.Future[struct{}]
	isClosed func() bool
	end      func()
}

func closers() map[string]func() closer {
	return map[string]func() closer{
		"bounded, the receiver goes": func() closer {
			tx, rx := chanx.NewBounded[int](1)
			return closer{tx.Closed, tx.ClosedFuture, tx.IsClosed, rx.Close}
		},
		"bounded, the receiver stops it": func() closer {
			tx, rx := chanx.NewBounded[int](1)
			return closer{tx.Closed, tx.ClosedFuture, tx.IsClosed, rx.Stop}
		},
		"unbounded": func() closer {
			tx, rx := chanx.NewUnbounded[int]()
			return closer{tx.Closed, tx.ClosedFuture, tx.IsClosed, rx.Close}
		},
		"oneshot": func() closer {
			tx, rx := chanx.NewOneshot[int]()
			return closer{tx.Closed, tx.ClosedFuture, tx.IsClosed, rx.Close}
		},
		"broadcast": func() closer {
			tx, rx := chanx.NewBroadcast[int](1)
			other := tx.Subscribe()
			rx.Close()
			return closer{tx.Closed, tx.ClosedFuture, tx.IsClosed, other.Close}
		},
		"watch": func() closer {
			tx, rx := chanx.NewWatch(1)
			other := tx.Subscribe()
			rx.Close()
			return closer{tx.Closed, tx.ClosedFuture, tx.IsClosed, other.Close}
		},
	}
}

func TestSendersAwaitTheEndOfTheReceivers(t *testing.T) {
	for name, make := range closers() {
		t.Run(name, func(t *testing.T) {
			for _, workers := range []int{1, 2} {
				rt := start(t, workers)
				c := make()
				require.False(t, c.isClosed())
				h := waiting(t, rt, c.future())
				c.end()
				_, err := outcome(t, h)
				require.NoError(t, err)
				require.True(t, c.isClosed())
				_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) { return 0, c.closed(cx) }))
				require.NoError(t, err, "at once")
				require.NoError(t, c.closed(context.Background()))
			}
		})
	}
}

func TestAWaitForTheEndThatIsAbandonedLeavesTheChannelAsItWas(t *testing.T) {
	for name, make := range closers() {
		t.Run(name, func(t *testing.T) {
			rt := start(t, 1)
			c := make()
			h := waiting(t, rt, c.future())
			h.Abort()
			_, err := outcome(t, h)
			require.ErrorIs(t, err, sched.ErrCanceled)
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, c.closed(ctx), context.DeadlineExceeded)
			require.False(t, c.isClosed())
			c.end()
			require.True(t, c.isClosed())
		})
	}
}

func TestAOneshotsSenderSendsAfterItHasWaitedForTheEnd(t *testing.T) {
	rt := start(t, 1)
	tx, rx := chanx.NewOneshot[int]()
	got := waiting(t, rt, rx.RecvFuture())
	h := waiting(t, rt, tx.ClosedFuture())
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.NoError(t, tx.Send(context.Background(), 3))
	v, err := outcome(t, got)
	require.NoError(t, err)
	require.Equal(t, 3, v)
	require.NoError(t, tx.Closed(context.Background()), "nothing is left to be sent")
}

func TestWaitForEndsWithTheFirstValueThatSatisfies(t *testing.T) {
	rt := start(t, 2)
	tx, rx := chanx.NewWatch(1)
	v, err := rx.WaitFor(context.Background(), func(v int) bool { return v == 1 })
	require.NoError(t, err)
	require.Equal(t, 1, v, "the value that is there, although it was seen")

	h := waiting(t, rt, rx.WaitForFuture(func(v int) bool { return v >= 3 }))
	for v := 2; v <= 3; v++ {
		require.NoError(t, tx.Send(context.Background(), v))
	}
	v, err = outcome(t, h)
	require.NoError(t, err)
	require.Equal(t, 3, v)
	_, err = rx.TryRecv()
	require.Equal(t, chanx.ErrEmpty, err, "it counts as seen")

	h = waiting(t, rt, rx.WaitForFuture(func(v int) bool { return v == 9 }))
	h.Abort()
	_, err = outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)

	h = waiting(t, rt, rx.WaitForFuture(func(v int) bool { return v == 9 }))
	tx.Close()
	_, err = outcome(t, h)
	require.ErrorIs(t, err, chanx.ErrClosed)
	v, err = rx.WaitFor(context.Background(), func(v int) bool { return v == 3 })
	require.NoError(t, err, "the last value satisfies although the channel has closed")
	require.Equal(t, 3, v)
}

func TestWaitForMissesNoValueThatStays(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		n := rounds(2000)
		tx, rx := chanx.NewWatch(0)
		j := c.do(func(ctx context.Context) error {
			for i := 1; i <= n; i++ {
				if _, err := rx.WaitFor(ctx, func(v int) bool { return v >= i }); err != nil {
					return err
				}
			}
			return nil
		})
		for i := 1; i <= n; i++ {
			require.NoError(t, tx.Send(context.Background(), i))
		}
		require.NoError(t, j.wait())
	})
}
