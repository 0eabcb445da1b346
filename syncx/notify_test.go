package syncx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

func TestNotifyOneTwiceBeforeAWaitStoresOnePermit(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		var n syncx.Notify
		n.NotifyOne()
		n.NotifyOne()
		require.NoError(t, waiting(&n).begin(rt, f, nothing).result(t))
		second := waiting(&n).begin(rt, f, nothing)
		eventually(t, "the second waits", func() bool { return n.Waiters() == 1 })
		n.NotifyOne()
		require.NoError(t, second.result(t))
		require.True(t, n.AtRest())
	})
}

func TestNotifyWaitersWakesAllAndStoresNone(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		var n syncx.Notify
		var waits []*wait
		for range 100 { // more than one batch of wake-ups
			waits = append(waits, waiting(&n).begin(rt, f, nothing))
		}
		eventually(t, "they wait", func() bool { return n.Waiters() == 100 })
		n.NotifyWaiters()
		for _, w := range waits {
			require.NoError(t, w.result(t))
		}
		require.True(t, n.AtRest())
		late := waiting(&n).begin(rt, f, nothing)
		eventually(t, "one that comes later waits", func() bool { return n.Waiters() == 1 })
		late.giveUp()
		require.ErrorIs(t, late.result(t), context.Canceled)
		require.True(t, n.AtRest())
		require.False(t, n.TryWait())
	})
}

func TestTheNotificationOfOneWhoGivesUpGoesToTheNext(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var n syncx.Notify
		first := n.WaitFuture()
		pollOnce(t, rt, first, sched.ErrPending)
		second := waiting(&n).begin(rt, stackful, nothing)
		eventually(t, "both wait", func() bool { return n.Waiters() == 2 })
		n.NotifyOne()
		require.Equal(t, 1, n.Waiters(), "the first is told")
		abandon(first)
		require.NoError(t, second.result(t))
		require.True(t, n.AtRest())

		pollOnce(t, rt, first, sched.ErrPending)
		n.NotifyOne()
		abandon(first)
		require.True(t, n.TryWait(), "nobody else waits: it is kept")

		pollOnce(t, rt, first, sched.ErrPending)
		n.NotifyWaiters()
		abandon(first)
		require.False(t, n.TryWait(), "that of all is for those who waited")
	})
}

// pollOnce polls a future in a task that then ends.
func pollOnce[T any](t testing.TB, rt *sched.Runtime, f sched.Future[T], want error) {
	t.Helper()
	_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[error](func(cx *sched.Context) (error, error) {
		_, err := f.Poll(cx)
		require.Equal(t, want, err)
		return err, nil
	})))
	require.NoError(t, err)
}

func TestNotifyOneTellsTheFirstThatWaits(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var n syncx.Notify
		told := make(chan int, 9)
		var waits []*wait
		for i := range 9 {
			waits = append(waits, waiting(&n).begin(rt, forms[i%len(forms)], func() { told <- i }))
			eventually(t, "it waits", func() bool { return n.Waiters() == i+1 })
		}
		for i, w := range waits {
			n.NotifyOne()
			require.Equal(t, i, receive(t, "one is told", told))
			require.NoError(t, w.result(t))
		}
		require.True(t, n.AtRest())
	})
}

func TestAFutureIsToldByNotifyWaitersFromWhenItWasMade(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var n syncx.Notify
	f := n.WaitFuture()
	n.NotifyWaiters()
	pollOnce(t, rt, f, nil)
	pollOnce(t, rt, f, sched.ErrPending)
	n.NotifyWaiters()
	pollOnce(t, rt, f, nil)
	n.NotifyOne()
	n.NotifyWaiters()
	pollOnce(t, rt, f, nil)
	require.True(t, n.TryWait(), "it has not taken what is for another")
	require.True(t, n.AtRest())
}
