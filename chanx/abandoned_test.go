//go:build !explore

package chanx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func pending() sched.Future[int] {
	return sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, sched.ErrPending })
}

// abandons spawns the future in a Join that times out, and as a task that is detached.
func abandons[T any](t *testing.T, rt *sched.Runtime, reserve func() sched.Future[T]) {
	t.Helper()
	_, err := sched.Spawn[sched.Pair[T, int]](rt, sched.Timeout(0, sched.Join2(reserve(), pending()))).Wait(t.Context())
	require.Equal(t, sched.ErrTimeout, err)
	h := sched.Spawn(rt, reserve())
	eventually(t, "the task ends", h.Done)
	h.Detach()
	h = sched.Go(rt, func(cx *sched.Context) (T, error) { return sched.Await(cx, reserve()) })
	eventually(t, "the task ends", h.Done)
	h.Detach()
	_, err = sched.Spawn[sched.Pair[sched.Selected[T], int]](rt,
		sched.Timeout(0, sched.Join2(sched.Select(reserve()), pending()))).Wait(t.Context())
	require.Equal(t, sched.ErrTimeout, err)
	var set sched.JoinSet[T]
	a := set.Spawn(rt, reserve())
	eventually(t, "the task ends", a.Done)
	set.Close()
}

func TestReservationsThatNobodyTakesAreGivenBack(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, workers)
		tx, rx := chanx.NewBounded[int](3)
		abandons(t, rt, tx.ReserveFuture)
		for i := range 3 {
			require.NoError(t, tx.TrySend(i), "all room is free")
		}
		tx.Close()
		for range 3 {
			_, err := rx.Recv(t.Context())
			require.NoError(t, err)
		}
		_, err := rx.Recv(t.Context())
		require.Equal(t, chanx.ErrClosed, err)
	}
}

// A Join that fails returns the permits that it has: the caller releases them.
func TestAJoinThatFailsReturnsItsPermits(t *testing.T) {
	rt := start(t, 1)
	tx, _ := chanx.NewBounded[int](1)
	closed, gone := chanx.NewBounded[int](1)
	gone.Close()
	pair, err := sched.Spawn(rt, sched.Join2(tx.ReserveFuture(), closed.ReserveFuture())).Wait(t.Context())
	require.Equal(t, chanx.ErrClosed, err)
	require.Equal(t, chanx.ErrFull, tx.TrySend(1))
	pair.Release()
	require.NoError(t, tx.TrySend(1))
}
