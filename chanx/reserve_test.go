//go:build !explore

package chanx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

func outcome[T any](t testing.TB, h *sched.JoinHandle[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := h.Wait(ctx)
	require.NoError(t, ctx.Err(), "a task does not end")
	return v, err
}

// waiting starts a task with that future, which has to wait.
func waiting[T any](t testing.TB, rt *sched.Runtime, f sched.Future[T]) *sched.JoinHandle[T] {
	t.Helper()
	polled := make(chan struct{}, 1)
	h := sched.Go(rt, func(cx *sched.Context) (T, error) {
		return sched.Await(cx, sched.Future[T](&noted[T]{f, polled}))
	})
	schedtest.Receive(t, "it is polled", polled)
	require.False(t, h.Done())
	return h
}

// noted signals the end of its first poll.
type noted[T any] struct {
	f      sched.Future[T]
	polled chan struct{}
}

func (n *noted[T]) Poll(cx *sched.Context) (T, error) {
	defer func() {
		select {
		case n.polled <- struct{}{}:
		default:
		}
	}()
	return n.f.Poll(cx)
}

func (n *noted[T]) Cancel() {
	if c, ok := n.f.(sched.Canceler); ok {
		c.Cancel()
	}
}

func TestReserveManyKeepsRoomForAllOrNone(t *testing.T) {
	rt := start(t, 1)
	tx, rx := chanx.NewBounded[int](4)
	p, err := tx.TryReserveMany(3)
	require.NoError(t, err)
	require.Equal(t, 3, p.Len())
	_, err = tx.TryReserveMany(2)
	require.ErrorIs(t, err, chanx.ErrFull)
	_, err = tx.TryReserveMany(5)
	require.ErrorIs(t, err, chanx.ErrCapacity)
	require.NoError(t, tx.TrySend(9), "there is room for one more")
	require.ErrorIs(t, tx.TrySend(9), chanx.ErrFull)

	require.NoError(t, p.Send(context.Background(), 1))
	one, ok := p.Next()
	require.True(t, ok)
	require.NoError(t, one.Send(context.Background(), 2))
	p.Release()
	p.Release() // no permit is left
	require.Zero(t, p.Len())
	require.Panics(t, func() { _ = p.Send(context.Background(), 3) })
	require.Panics(t, func() { _, _ = tx.TryReserveMany(-1) })
	require.NoError(t, tx.TrySend(3), "the released one")
	require.Equal(t, 4, rx.Len())

	h := waiting(t, rt, tx.ReserveManyFuture(2))
	_, err = rx.TryRecv()
	require.NoError(t, err)
	require.ErrorIs(t, tx.TrySend(4), chanx.ErrFull, "it overtakes one that has half of its room")
	require.False(t, h.Done())
	_, err = rx.TryRecv()
	require.NoError(t, err)
	p, err = outcome(t, h)
	require.NoError(t, err)
	require.Equal(t, 2, p.Len())
	none, err := tx.TryReserveMany(0)
	require.NoError(t, err)
	require.Zero(t, none.Len())
}

func TestAReserveManyThatIsAbandonedGivesItsHalfToTheNext(t *testing.T) {
	rt := start(t, 1)
	tx, rx := chanx.NewBounded[int](2)
	require.NoError(t, tx.TrySend(1))
	many := waiting(t, rt, tx.ReserveManyFuture(2))
	one := waiting(t, rt, sched.Future[struct{}](tx.SendFuture(2)))
	many.Abort()
	_, err := outcome(t, many)
	require.ErrorIs(t, err, sched.ErrCanceled)
	_, err = outcome(t, one)
	require.NoError(t, err)
	require.Equal(t, 2, rx.Len())
}

// A closed channel waits for permits, but half of a reservation is no permit.
func TestClosingEndsAReserveManyThatHasHalfOfItsRoom(t *testing.T) {
	for name, end := range map[string]func(tx *chanx.Sender[int], rx *chanx.Receiver[int]){
		"the last sender goes":  func(tx *chanx.Sender[int], rx *chanx.Receiver[int]) { tx.Close() },
		"the receiver stops it": func(tx *chanx.Sender[int], rx *chanx.Receiver[int]) { rx.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, 1)
			tx, rx := chanx.NewBounded[int](2)
			require.NoError(t, tx.TrySend(1))
			h := waiting(t, rt, tx.ReserveManyFuture(2))
			end(tx, rx)
			_, err := outcome(t, h)
			require.ErrorIs(t, err, chanx.ErrClosed)
			_, err = rx.TryRecv()
			require.NoError(t, err)
			_, err = rx.TryRecv()
			require.ErrorIs(t, err, chanx.ErrClosed, "permits are still out")
			_, err = tx.TryReserveMany(1)
			require.ErrorIs(t, err, chanx.ErrClosed)
		})
	}
}

func TestBatchesAndSinglesShareTheRoom(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		const senders, batches = 4, 50
		tx, rx := chanx.NewBounded[int](5)
		var jobs []*job
		for s := range senders {
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				for i := range batches {
					n := 1 + (s+i)%5
					p, err := tx.ReserveMany(ctx, n)
					if err != nil {
						return err
					}
					for p.Len() > 1 {
						if err := p.Send(ctx, 1); err != nil {
							return err
						}
					}
					p.Release()
				}
				return nil
			}))
		}
		received := c.do(func(ctx context.Context) error {
			for {
				if _, err := rx.Recv(ctx); err != nil {
					require.ErrorIs(t, err, chanx.ErrClosed)
					return nil
				}
			}
		})
		allDone(t, jobs)
		p, err := tx.TryReserveMany(5)
		for err == chanx.ErrFull { // the last values are being received
			p, err = tx.TryReserveMany(5)
		}
		require.NoError(t, err, "a permit was lost")
		p.Release()
		tx.Close()
		require.NoError(t, received.wait())
	})
}

func TestAnOwnedPermitGivesTheHandleBack(t *testing.T) {
	rt := start(t, 1)
	tx, rx := chanx.NewBounded[int](1)
	p, err := tx.TryReserveOwned()
	require.NoError(t, err)
	_, err = tx.TryReserveOwned()
	require.ErrorIs(t, err, chanx.ErrFull)
	back, err := p.Send(context.Background(), 1)
	require.NoError(t, err)
	require.Same(t, tx, back)
	require.Panics(t, func() { p.Release() })

	h := sched.Go(rt, func(cx *sched.Context) (*chanx.Sender[int], error) {
		p, err := tx.ReserveOwned(cx)
		if err != nil {
			return nil, err
		}
		return p.Release(), nil
	})
	v, err := rx.Recv(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, v)
	back, err = outcome(t, h)
	require.NoError(t, err)
	require.Same(t, tx, back)
	rx.Close()
	_, err = tx.ReserveOwned(context.Background())
	require.ErrorIs(t, err, chanx.ErrClosed)
}
