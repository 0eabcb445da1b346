//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func TestTheInitialValueOfAWatchCountsAsSeen(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewWatch("initial")
		_, err := rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err)
		require.Equal(t, "initial", rx.Value())
		waits := c.do(func(ctx context.Context) error { _, err := rx.Recv(ctx); return err })
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		late := tx.Subscribe()
		require.NoError(t, tx.Send(context.Background(), "new"))
		require.NoError(t, waits.wait())
		require.Equal(t, "new", rx.Value())
		_, err = rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err, "seen")
		v, err := late.TryRecv()
		require.NoError(t, err, "not by this one")
		require.Equal(t, "new", v)
		_, err = late.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err)
	})
}

func TestAClosedWatchGivesAnUnseenValueFirstAndIsThenClosed(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewWatch(0)
		other := tx.Clone()
		changes := rx.Clone()
		require.NoError(t, tx.Send(context.Background(), 1))
		tx.Close()
		require.Equal(t, chanx.ErrClosed, tx.Send(context.Background(), 2))
		require.NoError(t, other.Send(context.Background(), 3))
		other.Close()
		v, err := receives(c, rx)
		require.NoError(t, err)
		require.Equal(t, 3, v)
		_, err = receives(c, rx)
		require.Equal(t, chanx.ErrClosed, err)
		require.Equal(t, 3, rx.Value(), "to be seen as before")
		c.run(func(ctx context.Context) {
			v, err := sched.Await(ctx, changes.RecvFuture())
			require.NoError(t, err)
			require.Equal(t, 3, v)
		})
		_, err = changes.TryRecv()
		require.Equal(t, chanx.ErrClosed, err)
	})
}

func TestAWatchWakesAllThatWait(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, first := chanx.NewWatch(0)
		const receivers = 40
		var jobs []*job
		for range receivers {
			rx := first.Clone()
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				defer rx.Close()
				if v, err := rx.Recv(ctx); err != nil || v != 1 {
					return fmt.Errorf("%d: %w", v, err)
				}
				if _, err := rx.Recv(ctx); err != chanx.ErrClosed {
					return fmt.Errorf("not closed: %w", err)
				}
				return nil
			}))
		}
		eventually(t, "they wait", func() bool { return tx.Waiting() == receivers })
		require.NoError(t, tx.Modify(context.Background(), func(*int) bool { return false }))
		require.Equal(t, receivers, tx.Waiting(), "nothing has changed")
		require.NoError(t, tx.Modify(context.Background(), func(v *int) bool { *v++; return true }))
		eventually(t, "they wait", func() bool { return tx.Waiting() == receivers })
		tx.Close()
		allDone(t, jobs)
	})
}

func TestAWatchWithoutReceiversRefuses(t *testing.T) {
	tx, rx := chanx.NewWatch(0)
	rx.Close()
	rx.Close()
	require.Equal(t, chanx.ErrClosed, tx.Send(context.Background(), 1))
	require.Zero(t, tx.Value(), "it is what it was")
	_, err := rx.TryRecv()
	require.Equal(t, chanx.ErrClosed, err)
	rx = tx.Subscribe()
	require.NoError(t, tx.Send(context.Background(), 2))
	v, err := rx.TryRecv()
	require.NoError(t, err)
	require.Equal(t, 2, v)
}

// The versions that a receiver sees only increase, and it sees the last value.
func TestAWatchReceiverSeesTheLastValue(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		n := rounds(40_000)
		tx, first := chanx.NewWatch(0)
		var jobs []*job
		for range 4 {
			rx := first.Clone()
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				last := 0
				for {
					v, err := rx.Recv(ctx)
					if err == chanx.ErrClosed && last == n {
						return nil
					} else if err != nil || v <= last {
						return fmt.Errorf("%d after %d: %w", v, last, err)
					}
					last = v
				}
			}))
		}
		jobs = append(jobs, c.do(func(ctx context.Context) error {
			defer tx.Close()
			for i := range n {
				if err := tx.Send(ctx, i+1); err != nil {
					return err
				}
				if cx := sched.FromContext(ctx); cx != nil && !cx.Proceed() {
					if _, err := sched.Await(ctx, yield()); err != nil {
						return err
					}
				}
			}
			return nil
		}))
		allDone(t, jobs)
	})
}
