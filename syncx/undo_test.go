package syncx_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

type unit = struct{}

func never() sched.Future[unit] {
	return sched.FutureFunc[unit](func(*sched.Context) (unit, error) { return unit{}, sched.ErrPending })
}

// acquisitions are futures that acquire something at once, each with a check that it is free.
func acquisitions() map[string]func() (f sched.Future[unit], free func() bool) {
	return map[string]func() (sched.Future[unit], func() bool){
		"Mutex": func() (sched.Future[unit], func() bool) {
			m := new(syncx.Mutex)
			return m.LockFuture(), m.AtRest
		},
		"RWMutex, writing": func() (sched.Future[unit], func() bool) {
			rw := new(syncx.RWMutex)
			return rw.LockFuture(), rw.AtRest
		},
		"RWMutex, reading": func() (sched.Future[unit], func() bool) {
			rw := new(syncx.RWMutex)
			return rw.RLockFuture(), rw.AtRest
		},
		"Semaphore": func() (sched.Future[unit], func() bool) {
			s := syncx.NewSemaphore(3)
			return s.AcquireFuture(2), func() bool { return s.Available() == 3 }
		},
		"NotifyOne": func() (sched.Future[unit], func() bool) {
			n := new(syncx.Notify)
			n.NotifyOne()
			return n.WaitFuture(), n.TryWait
		},
		"NotifyWaiters": func() (sched.Future[unit], func() bool) {
			n := new(syncx.Notify)
			f := n.WaitFuture()
			n.NotifyWaiters()
			return f, func() bool { return !n.TryWait() }
		},
	}
}

func TestAnAbandonedJoinGivesBackWhatItHasAcquired(t *testing.T) {
	for name, acquire := range acquisitions() {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				f, free := acquire()
				_, err := outcome(t, sched.Spawn[sched.Pair[unit, unit]](rt, sched.Timeout(0, sched.Join2(f, never()))))
				require.Equal(t, sched.ErrTimeout, err)
				require.True(t, free(), "timeout")

				f, free = acquire()
				closed := syncx.NewSemaphore(0)
				closed.Close()
				_, err = outcome(t, sched.Spawn(rt, sched.Join(f, closed.AcquireFuture(1))))
				require.Equal(t, syncx.ErrClosed, err)
				require.True(t, free(), "failure")

				f, free = acquire()
				h := sched.Spawn(rt, f)
				eventually(t, "the task ends", h.Done)
				h.Detach()
				require.True(t, free(), "detached")

				f, free = acquire()
				_, err = sched.Await[sched.Pair[unit, unit]](t.Context(), sched.Timeout(time.Millisecond, sched.Join2(f, never())))
				require.Equal(t, sched.ErrTimeout, err)
				require.True(t, free(), "timeout of Wait")

				f, free = acquire()
				_, err = outcome(t, sched.Spawn(rt, f))
				require.NoError(t, err)
				require.Equal(t, name == "NotifyWaiters", free(), "taken")
			})
		})
	}
}

// A notification that a waiter got while it was queued goes to the next one.
func TestAnAbandonedJoinPassesItsNotificationOn(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var n syncx.Notify
	first, second := n.WaitFuture(), n.WaitFuture()
	_, err := outcome(t, sched.Spawn(rt, sched.FutureFunc[unit](func(cx *sched.Context) (unit, error) {
		join := sched.Join2(first, never())
		_, err := join.Poll(cx)
		require.Equal(t, sched.ErrPending, err)
		_, err = second.Poll(cx)
		require.Equal(t, sched.ErrPending, err)
		n.NotifyOne()
		_, err = join.Poll(cx)
		require.Equal(t, sched.ErrPending, err)
		abandon(join)
		return second.Poll(cx)
	})))
	require.NoError(t, err)
	require.False(t, n.TryWait())
}

// A Timeout around a lock that is held by others, polled by a goroutine without a runtime.
func TestAGoroutineWaitsForALockWithATimeout(t *testing.T) {
	var m syncx.Mutex
	require.True(t, m.TryLock())
	_, err := sched.Await(t.Context(), sched.Timeout(time.Millisecond, m.LockFuture()))
	require.Equal(t, sched.ErrTimeout, err)
	m.Unlock()
	require.True(t, m.AtRest())
	_, err = sched.Await(t.Context(), sched.Timeout(time.Hour, m.LockFuture()))
	require.NoError(t, err)
	require.False(t, m.TryLock())
}
