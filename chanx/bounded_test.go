//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func TestEachValueIsReceivedOnceAndEachSendersOrderHolds(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) { sendAndCheck(t, c, 8, 4, 4, rounds(1_000_000)) })
}

func TestEachValueIsReceivedOnceWhateverTheCapacity(t *testing.T) {
	for _, capacity := range []int{1, 2, 3, 7, 100} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			sendAndCheck(t, &crew{t: t, rt: start(t, 2), kind: "both"}, capacity, 3, 3, rounds(40_000))
		})
	}
}

// sendAndCheck sends values from a number of senders to a number of receivers.
func sendAndCheck(t *testing.T, c *crew, capacity, senders, receivers, values int) {
	tx, rx := chanx.NewBounded[[2]int](capacity)
	each := values / senders
	var jobs []*job
	for i := range senders {
		mine := tx.Clone()
		jobs = append(jobs, c.do(func(ctx context.Context) error {
			defer mine.Close()
			for n := range each {
				if err := mine.Send(ctx, [2]int{i, n}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	tx.Close()
	times := make([][]atomic.Int32, senders)
	for i := range times {
		times[i] = make([]atomic.Int32, each)
	}
	for range receivers {
		mine := rx.Clone()
		jobs = append(jobs, c.do(func(ctx context.Context) error {
			defer mine.Close()
			last := make([]int, senders)
			for {
				v, err := mine.Recv(ctx)
				if err == chanx.ErrClosed {
					return nil
				} else if err != nil {
					return err
				}
				if n := v[1] + 1; n <= last[v[0]] {
					return fmt.Errorf("%d of sender %d after %d", n, v[0], last[v[0]])
				} else {
					last[v[0]] = n
				}
				times[v[0]][v[1]].Add(1)
			}
		}))
	}
	rx.Close()
	allDone(t, jobs)
	for i := range times {
		for n := range times[i] {
			require.EqualValues(t, 1, times[i][n].Load(), "value %d of sender %d", n, i)
		}
	}
}

func TestASenderCanceledWhileTheChannelIsFullHasSentNothingAndTheSlotIsNotLost(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](2)
		require.NoError(t, tx.TrySend(1))
		require.NoError(t, tx.TrySend(2))
		require.Equal(t, chanx.ErrFull, tx.TrySend(3))
		var waits []*job
		for i := range 3 {
			waits = append(waits, c.do(func(ctx context.Context) error { return tx.Send(ctx, 10+i) }))
			eventually(t, "it waits", func() bool { return tx.Waiting() == i+1 })
		}
		waits[1].abort()
		require.ErrorIs(t, waits[1].wait(), context.Canceled)
		require.Equal(t, 2, tx.Waiting())
		var got []int
		for range 4 {
			v, err := receives(c, rx)
			require.NoError(t, err)
			got = append(got, v)
		}
		require.Equal(t, []int{1, 2}, got[:2])
		require.ElementsMatch(t, []int{10, 12}, got[2:], "both have their turn, and run when they do")
		require.NoError(t, waits[0].wait())
		require.NoError(t, waits[2].wait())
		_, err := rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err)
		require.NoError(t, tx.TrySend(4))
		require.NoError(t, tx.TrySend(5))
		require.Equal(t, chanx.ErrFull, tx.TrySend(6), "two, not more")
	})
}

// A sender may also be canceled after its turn has come and before it has run.
func TestASenderCanceledWhenItsTurnHasComeGivesItToTheNext(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](1)
		require.NoError(t, tx.TrySend(1))
		lazy := tx.SendFuture(2)
		c.run(func(ctx context.Context) { // polled once, and then not again
			_, err := sched.Await(ctx, once(lazy))
			require.Equal(t, errNotYet, err)
		})
		next := c.do(func(ctx context.Context) error { return tx.Send(ctx, 3) })
		eventually(t, "it waits behind", func() bool { return tx.Waiting() == 2 })
		v, err := rx.TryRecv()
		require.NoError(t, err)
		require.Equal(t, 1, v)
		require.Equal(t, 1, tx.Waiting(), "it has the turn")
		require.Equal(t, chanx.ErrFull, tx.TrySend(4), "nobody else has")
		_, err = rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err)
		lazy.(sched.Canceler).Cancel()
		require.NoError(t, next.wait())
		v, err = rx.TryRecv()
		require.NoError(t, err)
		require.Equal(t, 3, v)
	})
}

func TestAPermitIsRoomThatNobodyElseTakes(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](3)
		var permits []chanx.Permit[int]
		for range 3 {
			p, err := tx.TryReserve()
			require.NoError(t, err)
			permits = append(permits, p)
		}
		_, err := tx.TryReserve()
		require.Equal(t, chanx.ErrFull, err)
		require.Equal(t, chanx.ErrFull, tx.TrySend(0))
		waits := c.do(func(ctx context.Context) error {
			p, err := tx.Reserve(ctx)
			if err != nil {
				return err
			}
			return p.Send(ctx, 10)
		})
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		require.NoError(t, permits[2].Send(context.Background(), 2))
		v, err := rx.TryRecv()
		require.NoError(t, err)
		require.Equal(t, 2, v, "permits that are not used hold nobody up")
		require.NoError(t, waits.wait())
		permits[0].Release()
		require.NoError(t, tx.TrySend(11))
		require.Panics(t, func() { permits[0].Release() })
		require.Panics(t, func() { _ = permits[2].Send(context.Background(), 2) })
		for _, want := range []int{10, 11} {
			v, err := rx.TryRecv()
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		rx.Close()
		require.Equal(t, chanx.ErrClosed, permits[1].Send(context.Background(), 1), "nobody receives")
	})
}

func TestWaitingSendersAreServedInTheOrderTheyCame(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](1)
		require.NoError(t, tx.TrySend(0))
		var waits []*job
		for i := range 20 {
			waits = append(waits, c.do(func(ctx context.Context) error { return tx.Send(ctx, i+1) }))
			eventually(t, "it waits", func() bool { return tx.Waiting() == i+1 })
		}
		for want := range 21 {
			v, err := receives(c, rx)
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		allDone(t, waits)
	})
}

func TestRecvManyTakesWhatIsThere(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](5)
		waits := c.do(func(ctx context.Context) error {
			buf := make([]int, 3)
			n, err := rx.RecvMany(ctx, buf)
			if err != nil || n != 1 || buf[0] != 1 {
				return fmt.Errorf("%d, %v, %w", n, buf, err)
			}
			return nil
		})
		eventually(t, "it waits", func() bool { return rx.Waiting() == 1 })
		require.NoError(t, tx.TrySend(1))
		require.NoError(t, waits.wait())
		for i := range 5 {
			require.NoError(t, tx.TrySend(i))
		}
		c.run(func(ctx context.Context) {
			buf := make([]int, 3)
			n, err := rx.RecvMany(ctx, buf[:0])
			require.NoError(t, err)
			require.Zero(t, n)
			n, err = rx.RecvMany(ctx, buf)
			require.NoError(t, err)
			require.Equal(t, []int{0, 1, 2}, buf[:n])
			tx.Close()
			n, err = rx.RecvMany(ctx, buf)
			require.NoError(t, err)
			require.Equal(t, []int{3, 4}, buf[:n])
			_, err = rx.RecvMany(ctx, buf)
			require.Equal(t, chanx.ErrClosed, err)
		})
	})
}

func TestAnAbortedTaskThatCouldGoOnForEverEnds(t *testing.T) {
	for name, step := range map[string]func(cx *sched.Context, tx *chanx.Sender[int], rx *chanx.Receiver[int]) error{
		"sends and receives": func(cx *sched.Context, tx *chanx.Sender[int], rx *chanx.Receiver[int]) error {
			if err := tx.Send(cx, 1); err != nil {
				return err
			}
			_, err := rx.Recv(cx)
			return err
		},
		"reserves": func(cx *sched.Context, tx *chanx.Sender[int], _ *chanx.Receiver[int]) error {
			p, err := tx.Reserve(cx)
			if err == nil {
				p.Release()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, 1)
			tx, rx := chanx.NewBounded[int](4)
			var over atomic.Bool // ends a task that ignores its abort
			t.Cleanup(func() { over.Store(true) })
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				for !over.Load() {
					if err := step(cx, tx, rx); err != nil {
						return 0, err
					}
				}
				return 0, nil
			})
			other := sched.Go(rt, func(*sched.Context) (int, error) { return 1, nil })
			_, err := outcome(t, other) // the budget lets other tasks run
			require.NoError(t, err)
			h.Abort()
			_, err = outcome(t, h)
			require.ErrorIs(t, err, sched.ErrCanceled)
			for err == nil || err == sched.ErrCanceled {
				_, err = rx.TryRecv()
			}
			reserveAll(t, tx, 4) // the task has kept no room
		})
	}
}

func TestAContextThatHasEndedDoesNotMatterIfNothingHasToWait(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tx, rx := chanx.NewBounded[int](1)
	require.NoError(t, tx.Send(ctx, 1))
	require.ErrorIs(t, tx.Send(ctx, 2), context.Canceled)
	v, err := rx.Recv(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, v)
	_, err = rx.Recv(ctx)
	require.ErrorIs(t, err, context.Canceled)
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = rx.Recv(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, rx.Waiting())
}

func TestHandlesThatAreMisusedPanic(t *testing.T) {
	for _, capacity := range []int{-1, 0, 1<<21 + 1} {
		require.Panics(t, func() { chanx.NewBounded[int](capacity) })
	}
	tx, rx := chanx.NewBounded[int](1)
	tx.Close()
	rx.Close()
	require.Panics(t, func() { tx.Clone() })
	require.Panics(t, func() { rx.Clone() })
	var none chanx.Permit[int]
	require.Panics(t, func() { none.Release() })
	for _, err := range []error{
		func() error { _, err := rx.TryRecv(); return err }(),
		func() error { _, err := tx.TryReserve(); return err }(),
		func() error {
			_, err := sched.Await(context.Background(), rx.RecvFuture())
			return err
		}(),
		func() error {
			_, err := sched.Await(context.Background(), tx.SendFuture(1))
			return err
		}(),
	} {
		require.Equal(t, chanx.ErrClosed, err)
	}
}
