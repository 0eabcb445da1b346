package sched_test

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestAnAbortTakesEffectWhenTheLastShieldIsLowered(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var depth, polls atomic.Int64
		var waker atomic.Value
		h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			switch polls.Add(1) {
			case 1:
				cx.Shield()
				cx.Shield()
			case 3, 4:
				cx.Unshield()
				if cx.Canceled() != (polls.Load() == 4) {
					return 0, errors.New("wrong time to be canceled")
				}
			}
			depth.Add(1)
			waker.Store(cx.Waker())
			return 0, sched.ErrPending
		}))
		wait := func(n int64) {
			t.Helper()
			eventually(t, "it is polled", func() bool { return depth.Load() == n })
		}
		wait(1)
		h.Abort() // an abort is also a wake-up
		wait(2)
		require.False(t, h.Done())
		waker.Load().(sched.Waker).Wake()
		wait(3)
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
		require.False(t, h.Done(), "one shield is up still")
		waker.Load().(sched.Waker).Wake()
		_, err := outcome(t, h)
		require.Equal(t, sched.ErrCanceled, err)
		require.EqualValues(t, 4, polls.Load(), "it ends without another poll")
	})
}

func TestAStackfulTaskAwaitsBehindItsShields(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		inside, after := new(probe[int]), new(probe[int])
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			cx.Shield()
			cx.Shield()
			v, err := sched.Await(cx, sched.Future[int](inside))
			if err != nil {
				return 0, err
			}
			cx.Unshield()
			if _, err := sched.Await(cx, sched.Yield()); err != nil {
				return 0, err
			}
			cx.Unshield()
			_, err = sched.Await(cx, sched.Future[int](after))
			return v, err
		})
		inside.polled(t)
		h.Abort()
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
		require.False(t, h.Done())
		inside.finish(7, nil)
		v, err := outcome(t, h)
		require.Equal(t, sched.ErrCanceled, err)
		require.Equal(t, 7, v)
		require.Zero(t, after.polls.Load())
		require.EqualValues(t, 1, after.cancels.Load())
	})
}

func TestAShieldDefersAnAbortUntilItsFutureIsDone(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		p, after := new(probe[int]), new(probe[int])
		shield := sched.Shield(p)
		first := true
		h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if first {
				if v, err := shield.Poll(cx); err == sched.ErrPending {
					return v, err
				}
				first = false
			}
			return after.Poll(cx)
		}))
		p.polled(t)
		h.Abort()
		eventually(t, "the abort wakes it", func() bool { return p.polls.Load() == 2 })
		require.False(t, h.Done())
		p.finish(1, nil)
		_, err := outcome(t, h)
		require.Equal(t, sched.ErrCanceled, err)
		require.EqualValues(t, 1, after.polls.Load(), "the run in which it is done goes on")
		require.Zero(t, p.cancels.Load())
	})
}

func TestAShieldThatIsAbandonedIsLowered(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		p := new(probe[int])
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			_, err := sched.Await(cx, sched.Timeout(time.Second, sched.Shield(p)))
			if err != sched.ErrTimeout {
				return 0, err
			}
			_, err = sched.Await(cx, sched.Future[int](new(probe[int])))
			return 1, err
		})
		synctest.Wait()
		h.Abort()
		synctest.Wait()
		require.False(t, h.Done(), "the abort is deferred")
		v, err := h.Wait(t.Context())
		require.Equal(t, sched.ErrCanceled, err)
		require.Equal(t, 1, v, "until the timeout")
		require.EqualValues(t, 1, p.cancels.Load())
	})
}

func TestAShieldAroundATimeoutShieldsTheDeadline(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			return sched.Await(cx, sched.Shield(sched.Timeout(time.Second, new(probe[int]))))
		})
		synctest.Wait()
		h.Abort()
		_, err := h.Wait(t.Context())
		require.Equal(t, sched.ErrTimeout, err)
	})
}

func TestShieldsBesideOneAnotherAreCounted(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ps, _ := probes[int](3)
	h := sched.Spawn(rt, sched.Join(sched.Shield(ps[0]), sched.Shield(ps[1]), ps[2]))
	ps[2].polled(t)
	h.Abort()
	ps[0].finish(0, nil)
	pass(t, rt, 0)
	require.False(t, h.Done(), "one is up still")
	ps[1].finish(0, nil)
	_, err := outcome(t, h)
	require.Equal(t, sched.ErrCanceled, err)
	require.EqualValues(t, 1, ps[2].cancels.Load())

	h = sched.Spawn(rt, sched.Join(sched.Shield(new(probe[int])), sched.Shield(ready(0, io.EOF)), new(probe[int])))
	_, err = outcome(t, h)
	require.Equal(t, io.EOF, err)
}

func TestTooManyShieldsPanicAndTheOthersComeDown(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var fs []sched.Future[int]
	for range 256 {
		fs = append(fs, sched.Shield(new(probe[int])))
	}
	_, err := do(t, rt, sched.Join(fs...))
	var pe *sched.PanicError
	require.ErrorAs(t, err, &pe)
	require.Contains(t, pe.Value, "255")
}
