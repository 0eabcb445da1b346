//go:build !explore

package chanx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

const budget = 128

// A polled future is a future of any type.
type polled func(cx *sched.Context) error

func polling[T any](f sched.Future[T]) polled {
	return func(cx *sched.Context) error { _, err := f.Poll(cx); return err }
}

// full is a channel without room, whose receiver is open.
func full(t *testing.T) *chanx.Sender[int] {
	tx, rx := chanx.NewBounded[int](1)
	require.NoError(t, tx.TrySend(0))
	t.Cleanup(rx.Close)
	return tx
}

// pendings returns a pending future of each kind.
func pendings(t *testing.T) map[string]polled {
	_, bounded := chanx.NewBounded[int](1)
	_, boundedMany := chanx.NewBounded[int](1)
	_, unbounded := chanx.NewUnbounded[int]()
	_, unboundedMany := chanx.NewUnbounded[int]()
	_, oneshot := chanx.NewOneshot[int]()
	_, broadcast := chanx.NewBroadcast[int](1)
	_, watch := chanx.NewWatch(1)
	return map[string]polled{
		"RecvFuture":              polling(bounded.RecvFuture()),
		"RecvManyFuture":          polling(boundedMany.RecvManyFuture(make([]int, 2))),
		"UnboundedRecvFuture":     polling(unbounded.RecvFuture()),
		"UnboundedRecvManyFuture": polling(unboundedMany.RecvManyFuture(make([]int, 2))),
		"OneshotRecvFuture":       polling(oneshot.RecvFuture()),
		"BroadcastRecvFuture":     polling(broadcast.RecvFuture()),
		"WatchRecvFuture":         polling(watch.RecvFuture()),
		"WaitForFuture":           polling(watch.WaitForFuture(func(v int) bool { return v > 1 })),
		"SendFuture":              polling(full(t).SendFuture(1)),
		"ReserveFuture":           polling(full(t).ReserveFuture()),
		"ClosedFuture":            polling(full(t).ClosedFuture()),
	}
}

func TestAPendingPollTakesNothingFromTheBudget(t *testing.T) {
	rt := start(t, 1)
	for name, poll := range pendings(t) {
		h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			for range 3 { // the first poll begins the wait
				require.Equal(t, sched.ErrPending, poll(cx), name)
			}
			left := 0
			for cx.Proceed() {
				left++
			}
			return left, nil
		}))
		left, err := h.Wait(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, budget, left, name)
	}
}

func TestAJoinOfManyPendingReceivesReachesTheLast(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, workers)
		var txs []*chanx.OneshotSender[int]
		var fs []sched.Future[int]
		for range 2 * budget {
			tx, rx := chanx.NewOneshot[int]()
			txs, fs = append(txs, tx), append(fs, rx.RecvFuture())
		}
		tx, rx := chanx.NewBounded[int](1)
		require.NoError(t, tx.TrySend(7)) // what the others wait for
		last := rx.RecvFuture()
		fs = append(fs, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			v, err := last.Poll(cx)
			for i := 0; err == nil && i < len(txs); i++ {
				require.NoError(t, txs[i].Send(cx, v))
			}
			return v, err
		}))
		values, err := sched.Spawn(rt, sched.Join(fs...)).Wait(t.Context())
		require.NoError(t, err)
		require.Len(t, values, 2*budget+1)
	}
}

// An idle Select parks: the number of its polls stays what it is.
func TestAnIdleSelectOfManyReceiversParks(t *testing.T) {
	rt := start(t, 1)
	var fs []sched.Future[int]
	for range 2 * budget {
		_, rx := chanx.NewUnbounded[int]()
		fs = append(fs, rx.RecvFuture())
	}
	idle, polls := sched.Select(fs...), 0
	h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		polls++
		_, err := idle.Poll(cx)
		return 0, err
	}))
	for range 10 { // tasks that run after it would if it ran again
		n, err := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { return polls, nil })).Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	h.Abort()
	_, err := h.Wait(t.Context())
	require.ErrorIs(t, err, sched.ErrCanceled)
}
