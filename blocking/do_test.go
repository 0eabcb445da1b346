package blocking_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

func TestAStacklessTaskPollsACallAndMakesItAgain(t *testing.T) {
	on(t, func(t *testing.T, rt *sched.Runtime) {
		p := newPool(t, blocking.Config{})
		calls := 0
		f := blocking.DoFuture(p, func() (int, error) { calls++; return calls, nil })
		n := 1000
		_, err := result(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			for {
				v, err := f.Poll(cx)
				if err != nil || v == n {
					return v, err
				}
			}
		})))
		require.NoError(t, err)
		require.Equal(t, n, calls)
	})
}

func TestAGoroutineWaitsForACallNoLongerThanItsContext(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1})
	v, err := blocking.Do(t.Context(), p, func() (int, error) { return 7, nil })
	require.NoError(t, err)
	require.Equal(t, 7, v)

	g, h := occupy(t, p)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(nil)
	_, err = h.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	called := false
	_, err = blocking.Do(ctx, p, func() (int, error) { called = true; return 0, nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, p.Pending(), "the call that nobody waits for is not made")
	g.release()
	v, err = result(t, h)
	require.NoError(t, err, "a handle goes on")
	require.Equal(t, 1, v)
	shutdown(t, p)
	require.False(t, called)
}

func TestATaskWaitsForACallNoLongerThanADerivedContext(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1})
	rt := start(t, sched.Config{Workers: 1})
	g, h := occupy(t, p)
	late := errors.New("too late")
	called := false
	gaveUp := sched.Go(rt, func(cx *sched.Context) (error, error) {
		ctx, cancel := context.WithCancelCause(cx)
		go cancel(late)
		_, err := h.Wait(ctx)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, late) {
			return err, nil
		}
		ctx, stop := context.WithTimeoutCause(cx, time.Microsecond, late)
		defer stop()
		_, err = blocking.Do(ctx, p, func() (int, error) { called = true; return 0, nil })
		return err, nil
	})
	err, _ := result(t, gaveUp)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, late)
	require.Zero(t, p.Pending(), "the call that nobody waits for is not made")
	g.release()
	v, err := result(t, h)
	require.NoError(t, err, "a handle goes on")
	require.Equal(t, 1, v)
	shutdown(t, p)
	require.False(t, called)
}

func TestDoInAPollIsRefusedAndMakesNoCall(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	p := newPool(t, blocking.Config{})
	_, err := result(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		return blocking.Do(cx, p, func() (int, error) { t.Error("called"); return 0, nil })
	})))
	require.ErrorIs(t, err, sched.ErrMisuse)
	require.Zero(t, p.ThreadCount())
}

func TestAPanicOrAnExitOfACallIsItsErrorAndThePoolLives(t *testing.T) {
	on(t, func(t *testing.T, rt *sched.Runtime) {
		p := newPool(t, blocking.Config{MaxThreads: 2})
		for range 50 {
			_, err := result(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
				return blocking.Do(cx, p, func() (int, error) { panic(io.ErrUnexpectedEOF) })
			}))
			var pe *sched.PanicError
			require.ErrorAs(t, err, &pe)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Contains(t, string(pe.Stack), "do_test.go")
			_, err = result(t, blocking.Submit(p, func() (int, error) { runtime.Goexit(); return 0, nil }))
			require.Equal(t, sched.ErrGoexit, err)
			require.LessOrEqual(t, p.ThreadCount(), 2)
		}
		v, err := result(t, blocking.Submit(p, func() (int, error) { return 3, nil }))
		require.NoError(t, err)
		require.Equal(t, 3, v)
		eventually(t, "all are idle", func() bool { return p.IdleCount() == p.ThreadCount() })
	})
}

func TestAbortPreventsACallThatHasNotStarted(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1})
	g, h := occupy(t, p)
	queued := blocking.Submit(p, func() (int, error) { t.Error("called"); return 0, nil })
	after := blocking.Submit(p, func() (int, error) { return 5, nil })
	require.Equal(t, 2, p.Pending())
	require.True(t, queued.Abort())
	require.False(t, queued.Abort(), "twice")
	require.Equal(t, 1, p.Pending())
	_, err := result(t, queued)
	require.Equal(t, sched.ErrCanceled, err)
	g.release()
	v, err := result(t, after)
	require.NoError(t, err)
	require.Equal(t, 5, v)
	_, err = result(t, h)
	require.NoError(t, err)
	require.False(t, h.Abort())
	v, err = result(t, h)
	require.NoError(t, err, "a result stays")
	require.Equal(t, 1, v)
}

// A resource counts its releases.
type resource struct{ released *atomic.Int32 }

func (r resource) Release() {
	r.released.Add(1)
	panic("in a release")
}

func TestAnAbortedCallThatHasStartedGoesOnAndItsResultIsReleased(t *testing.T) {
	p := newPool(t, blocking.Config{})
	g := newGate(t, 1)
	var released atomic.Int32
	h := blocking.Submit(p, func() (resource, error) {
		_, err := g.pass()
		return resource{&released}, err
	})
	receive(t, "the call starts", g.entered)
	require.False(t, h.Abort())
	_, err := result(t, h)
	require.Equal(t, sched.ErrCanceled, err)
	g.release()
	eventually(t, "the result is released", func() bool { return released.Load() == 1 })
	kept, err := result(t, blocking.Submit(p, func() (resource, error) { return resource{&released}, nil }))
	require.NoError(t, err)
	require.EqualValues(t, 1, released.Load(), "a result that was taken is not")
	require.NotNil(t, kept.released)
}

func TestAnAbortedTaskIsGonePromptlyThoughItsCallBlocks(t *testing.T) {
	on(t, func(t *testing.T, rt *sched.Runtime) {
		p := newPool(t, blocking.Config{MaxThreads: 1})
		g := newGate(t, 1)
		started := sched.Go(rt, func(cx *sched.Context) (int, error) { return blocking.Do(cx, p, g.pass) })
		receive(t, "the call starts", g.entered)
		queued := sched.Go(rt, func(cx *sched.Context) (int, error) {
			return blocking.Do(cx, p, func() (int, error) { t.Error("called"); return 0, nil })
		})
		eventually(t, "the other is queued", func() bool { return p.Pending() == 1 })
		for _, h := range []*sched.JoinHandle[int]{queued, started} {
			h.Abort()
			_, err := result(t, h)
			require.Equal(t, sched.ErrCanceled, err)
		}
		require.Zero(t, p.Pending())
		require.Equal(t, 1, p.ThreadCount()-p.IdleCount(), "the call goes on")
		aborted := make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (int, error) {
			<-aborted
			return blocking.Do(cx, p, func() (int, error) { t.Error("called"); return 0, nil })
		})
		h.Abort()
		close(aborted)
		_, err := result(t, h)
		require.Equal(t, sched.ErrCanceled, err)
		g.release()
	})
}

func TestAHandleThatLosesARaceGoesOnAndWakesAllWhoWait(t *testing.T) {
	on(t, func(t *testing.T, rt *sched.Runtime) {
		p := newPool(t, blocking.Config{})
		g, h := occupy(t, p)
		_, err := result(t, sched.Spawn(rt, sched.Timeout(time.Millisecond, h)))
		require.Equal(t, sched.ErrTimeout, err)
		require.False(t, h.Done())
		var waiting []*sched.JoinHandle[int]
		var polled atomic.Int32
		for range 10 {
			waiting = append(waiting, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				v, err := h.Poll(cx)
				polled.Add(1)
				return v, err
			})))
		}
		eventually(t, "all wait", func() bool { return polled.Load() == 10 })
		g.release()
		for _, w := range waiting {
			v, err := result(t, w)
			require.NoError(t, err)
			require.Equal(t, 1, v)
		}
		require.True(t, h.Done())
	})
}

// A virtual clock waits for calls, including those that their tasks have given up.
func TestAVirtualClockStandsStillWhileATaskWaitsForACall(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, sched.Config{Workers: workers, Paused: true})
		other := start(t, sched.Config{Workers: 1, Paused: true})
		p := newPool(t, blocking.Config{})
		g := newGate(t, 1)
		call := blocking.Submit(p, g.pass)
		receive(t, "the call starts", g.entered)
		var waiting []*sched.JoinHandle[time.Duration]
		var polled atomic.Int32
		for _, rt := range []*sched.Runtime{rt, rt, other} {
			waiting = append(waiting, sched.Spawn(rt, sched.FutureFunc[time.Duration](func(cx *sched.Context) (time.Duration, error) {
				_, err := call.Poll(cx)
				polled.Add(1)
				return rt.Now(), err
			})))
		}
		eventually(t, "all wait", func() bool { return polled.Load() == 3 })
		waiting[0].Abort()
		for _, rt := range []*sched.Runtime{rt, other} {
			hour := sched.Spawn(rt, sched.Sleep(time.Hour))
			eventually(t, "all workers park", func() bool { return rt.Stats().Parked == rt.Workers() })
			require.Zero(t, rt.Now())
			require.False(t, hour.Done())
			hour.Detach()
		}
		g.release()
		for _, h := range waiting[1:] {
			at, err := result(t, h)
			require.NoError(t, err)
			require.Zero(t, at, "the result comes before the clock goes on")
		}
		for _, rt := range []*sched.Runtime{rt, other} {
			eventually(t, "the clock goes on", func() bool { return rt.Now() == time.Hour })
		}
	}
}

// Many tasks sleep and make calls in turns: none finds that the clock has moved during its call.
func TestCallsTakeNoVirtualTime(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, sched.Config{Workers: workers, Paused: true})
		p := newPool(t, blocking.Config{MaxThreads: 3})
		var tasks []*sched.JoinHandle[int]
		for i := range 20 {
			tasks = append(tasks, sched.Go(rt, func(cx *sched.Context) (int, error) {
				for n := range 50 {
					if _, err := sched.Await(cx, sched.Sleep(time.Duration(1+(i*n)%7)*time.Millisecond)); err != nil {
						return 0, err
					}
					before := rt.Now()
					if _, err := blocking.Do(cx, p, func() (int, error) { runtime.Gosched(); return 0, nil }); err != nil {
						return 0, err
					}
					if rt.Now() != before {
						return 0, errors.New("the clock went on during a call")
					}
				}
				return 0, nil
			}))
		}
		for _, h := range tasks {
			_, err := result(t, h)
			require.NoError(t, err)
		}
	}
}

func TestNeitherDoNorACallThatIsKeptAllocates(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	p := newPool(t, blocking.Config{MaxThreads: 1})
	_, err := result(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		kept := blocking.DoFuture(p, call)
		for name, do := range map[string]func() (int, error){
			"kept": func() (int, error) { return sched.Await(cx, kept) },
			"Do":   func() (int, error) { return blocking.Do(cx, p, call) },
		} {
			n := testing.AllocsPerRun(1000, func() {
				if _, err := do(); err != nil {
					panic(err)
				}
			})
			if int(n+0.5) > 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
		return 0, nil
	}))
	require.NoError(t, err)
}

// ErrPending as a function's result would make its waiters wait forever.
func TestErrPendingAsACallsResultIsAnError(t *testing.T) {
	p := newPool(t, blocking.Config{})
	_, err := blocking.Submit(p, func() (int, error) { return 0, sched.ErrPending }).Wait(context.Background())
	require.Equal(t, sched.ErrPendingResult, err)
}

func TestACallInASetIsAbortedBeforeItStartsAndLeftAloneAfter(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	p := newPool(t, blocking.Config{MaxThreads: 1})
	var set sched.JoinSet[int]
	started, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	runs := blocking.SpawnIn(&set, rt, p, func() (int, error) { close(started); <-leave; return 1, nil })
	receive(t, "a call starts", started)
	waits := blocking.SpawnIn(&set, rt, p, func() (int, error) { t.Error("called"); return 2, nil })
	eventually(t, "a call is queued", func() bool { return p.Pending() == 1 })
	for _, h := range []sched.AbortHandle{runs, waits} {
		h.Abort()
		_, err := result(t, sched.Spawn(rt, set.JoinNext()))
		require.ErrorIs(t, err, sched.ErrCanceled)
	}
	require.Zero(t, p.Pending())
	require.Zero(t, set.Len())
}
