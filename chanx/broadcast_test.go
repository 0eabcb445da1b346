//go:build !explore

package chanx_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func lagged(n uint64) error { return chanx.LaggedError{Missed: n} }

// expect requires that the receiver gets these values and errors.
func expect(t *testing.T, c *crew, rx *chanx.BroadcastReceiver[int], all ...any) {
	t.Helper()
	for i, want := range all {
		v, err := receives(c, rx)
		if fails, is := want.(error); is {
			require.Equal(t, fails, err, "the %d. of %v", i+1, all)
		} else {
			require.NoError(t, err)
			require.Equal(t, want, v, "the %d. of %v", i+1, all)
		}
	}
}

func sendAll(t *testing.T, tx *chanx.BroadcastSender[int], receivers int, values ...int) {
	t.Helper()
	for _, v := range values {
		n, err := tx.Send(context.Background(), v)
		require.NoError(t, err)
		require.Equal(t, receivers, n)
	}
}

func TestABroadcastsCapacityIsRoundedUpToAPowerOfTwo(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBroadcast[int](3)
		sendAll(t, tx, 1, 1, 2, 3, 4)
		require.Equal(t, 4, rx.Len())
		expect(t, c, rx, 1, 2, 3, 4)
		sendAll(t, tx, 1, 5, 6, 7, 8, 9)
		expect(t, c, rx, lagged(1), 6, 7, 8, 9)
	})
}

func TestABroadcastsLagIsPerReceiver(t *testing.T) {
	require.ErrorContains(t, lagged(7), "7 values missed")
	onEach(t, func(t *testing.T, c *crew) {
		tx, slow := chanx.NewBroadcast[int](2)
		sendAll(t, tx, 1, 1)
		quick := tx.Subscribe()
		sendAll(t, tx, 2, 2)
		expect(t, c, quick, 2)
		sendAll(t, tx, 2, 3, 4)
		expect(t, c, quick, 3, 4)
		late := slow.Clone()
		expect(t, c, slow, lagged(2), 3, 4)
		expect(t, c, late, lagged(2), 3)
		late.Close()
		late.Close()
		require.Equal(t, 2, tx.Receivers())
		tx.Close()
		expect(t, c, quick, chanx.ErrClosed)
	})
}

func TestABroadcastWakesAllThatWait(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBroadcast[int](4)
		rx.Close()
		const receivers = 70 // more than one batch of wake-ups
		var jobs []*job
		for range receivers {
			rx := tx.Subscribe()
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				defer rx.Close()
				for want := 1; want <= 2; want++ {
					if v, err := rx.Recv(ctx); err != nil || v != want {
						return fmt.Errorf("%d, not %d: %w", v, want, err)
					}
				}
				if _, err := rx.Recv(ctx); err != chanx.ErrClosed {
					return fmt.Errorf("not closed: %w", err)
				}
				return nil
			}))
		}
		eventually(t, "they wait", func() bool { return tx.Waiting() == receivers })
		sendAll(t, tx, receivers, 1)
		eventually(t, "they wait", func() bool { return tx.Waiting() == receivers })
		sendAll(t, tx, receivers, 2)
		eventually(t, "they wait", func() bool { return tx.Waiting() == receivers })
		tx.Close()
		allDone(t, jobs)
	})
}

func TestABroadcastWithoutReceiversRefuses(t *testing.T) {
	tx, rx := chanx.NewBroadcast[int](2)
	rx.Close()
	_, err := rx.TryRecv()
	require.Equal(t, chanx.ErrClosed, err)
	_, err = tx.Send(context.Background(), 1)
	require.Equal(t, chanx.ErrClosed, err)
	rx = tx.Subscribe()
	_, err = tx.Send(context.Background(), 2)
	require.NoError(t, err)
	v, err := rx.TryRecv()
	require.NoError(t, err)
	require.Equal(t, 2, v)
}

// The values that a receiver gets and those that it misses are all sent values, in order.
func TestBroadcastReceiversAccountForEverything(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		n := rounds(40_000)
		tx, rx := chanx.NewBroadcast[int](16)
		var jobs []*job
		for i := range 4 {
			rx := rx.Clone()
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				defer rx.Close()
				next := 0
				for {
					v, err := rx.Recv(ctx)
					var l chanx.LaggedError
					switch {
					case errors.As(err, &l):
						next += int(l.Missed)
						continue
					case err == chanx.ErrClosed && next == n:
						return nil
					case err != nil:
						return fmt.Errorf("after %d: %w", next, err)
					case v != next:
						return fmt.Errorf("receiver %d: %d, not %d", i, v, next)
					}
					next++
				}
			}))
		}
		rx.Close()
		jobs = append(jobs, c.do(func(ctx context.Context) error {
			defer tx.Close()
			for i := range n {
				if _, err := tx.Send(ctx, i); err != nil {
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
