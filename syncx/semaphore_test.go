package syncx_test

import (
	"context"
	"io/fs"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

func TestReleasedPermitsGoToTheFirstThatWaitsUntilItHasAll(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		s := syncx.NewSemaphore(4)
		five := acquiring(s, 5).begin(rt, f, nothing)
		eventually(t, "the first waits", func() bool { return s.Waiters() == 1 })
		three := acquiring(s, 3).begin(rt, f, nothing)
		eventually(t, "the second waits", func() bool { return s.Waiters() == 2 })
		require.Zero(t, s.Available(), "the first keeps what there was")
		require.False(t, s.TryAcquire(1))
		s.Release(1)
		require.NoError(t, five.result(t))
		require.Equal(t, 1, s.Waiters())
		s.Release(2)
		require.Equal(t, 1, s.Waiters(), "two are not enough for the second")
		require.Zero(t, s.Available())
		s.Release(1)
		require.NoError(t, three.result(t))
		require.True(t, s.AtRest(0))
	})
}

func TestAClosedSemaphoreRefusesThoseWhoWaitAndAReleaseDoesNotReopenIt(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		s := syncx.NewSemaphore(3)
		require.True(t, s.TryAcquire(1))
		var waits []*wait
		for range 100 { // more than are woken at a time
			waits = append(waits, acquiring(s, 4).begin(rt, f, nothing))
		}
		eventually(t, "they wait", func() bool { return s.Waiters() == 100 })
		s.Close()
		for _, w := range waits {
			require.ErrorIs(t, w.result(t), syncx.ErrClosed)
		}
		require.ErrorIs(t, syncx.ErrClosed, fs.ErrClosed)
		require.Equal(t, 2, s.Available(), "what they had got is free")
		s.Release(1)
		require.True(t, s.AtRest(3))
		require.False(t, s.TryAcquire(1))
		require.ErrorIs(t, acquiring(s, 1).begin(rt, f, nothing).result(t), syncx.ErrClosed)
		s.Close()
	})
}

func TestOneReleaseWakesAllForWhomItIsEnough(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		s := new(syncx.Semaphore)
		var waits []*wait
		for i := range 99 {
			waits = append(waits, acquiring(s, 1+i%3).begin(rt, forms[i%len(forms)], nothing))
		}
		eventually(t, "they wait", func() bool { return s.Waiters() == 99 })
		s.Release(200)
		for _, w := range waits {
			require.NoError(t, w.result(t))
		}
		require.True(t, s.AtRest(200-(1+2+3)*33))
	})
}

func TestTryAcquireDoesNotOvertakeAndNoneAreAlwaysThere(t *testing.T) {
	s := syncx.NewSemaphore(2)
	require.False(t, s.TryAcquire(3))
	require.True(t, s.TryAcquire(2))
	require.True(t, s.TryAcquire(0))
	require.False(t, s.TryAcquire(1))
	s.Release(0)
	require.True(t, s.AtRest(0))
	s.Close()
	require.False(t, s.TryAcquire(0))
}

func TestASemaphoreSaysWhatIsWrongWithANumberOfPermits(t *testing.T) {
	const complaint = "permits: there can be from 0 to"
	const maxPermits = math.MaxInt / 8
	for _, wrong := range []int{-1, maxPermits + 1} {
		s := syncx.NewSemaphore(1)
		for name, f := range map[string]func(){
			"new":     func() { syncx.NewSemaphore(wrong) },
			"try":     func() { s.TryAcquire(wrong) },
			"future":  func() { s.AcquireFuture(wrong) },
			"release": func() { s.Release(wrong) },
			"context": func() { _ = s.Acquire(context.Background(), wrong) },
		} {
			require.Contains(t, panicOf(f), complaint, name)
		}
	}
	s := syncx.NewSemaphore(maxPermits)
	require.Contains(t, panicOf(func() { s.Release(1) }), "more permits released")
	require.True(t, s.AtRest(maxPermits))
}

// panicOf is the text of a function's panic.
func panicOf(f func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	f()
	return ""
}

func TestAnAcquireIsBoundedByItsContextAndTakesWhatIsThereFirst(t *testing.T) {
	s := syncx.NewSemaphore(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, s.Acquire(ctx, 1))
	require.Equal(t, context.Canceled, s.Acquire(ctx, 1))
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, s.Acquire(ctx, 1))
	require.True(t, s.AtRest(0))
}

// Two tasks on one worker: the first one could go on without end.
func TestATaskThatNeverWaitsLetsOthersRun(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var mu syncx.Mutex
	var rw syncx.RWMutex
	var n syncx.Notify
	s, b := syncx.NewSemaphore(1), syncx.NewBarrier(1)
	never := map[string]func(cx *sched.Context) error{
		"semaphore": func(cx *sched.Context) error { defer s.Release(1); return s.Acquire(cx, 1) },
		"mutex":     func(cx *sched.Context) error { defer mu.Unlock(); return mu.Lock(cx) },
		"rwmutex":   func(cx *sched.Context) error { defer rw.Unlock(); return rw.Lock(cx) },
		"readers":   func(cx *sched.Context) error { defer rw.RUnlock(); return rw.RLock(cx) },
		"notify":    func(cx *sched.Context) error { n.NotifyOne(); return n.Wait(cx) },
		"barrier":   func(cx *sched.Context) error { _, err := b.Wait(cx); return err },
	}
	for name, step := range never {
		t.Run(name, func(t *testing.T) {
			stop := false // one worker
			h := sched.Go(rt, func(cx *sched.Context) (int, error) {
				for !stop {
					if err := step(cx); err != nil {
						return 0, err
					}
				}
				return 0, nil
			})
			other := sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { stop = true; return 0, nil }))
			_, err := outcome(t, other)
			require.NoError(t, err)
			_, err = outcome(t, h)
			require.NoError(t, err)
		})
	}
}

// A task with more futures than units of budget polls all of them.
func TestFuturesThatArePendingTakeNothingFromTheBudget(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	s := new(syncx.Semaphore)
	var futures []sched.Future[struct{}]
	for range 300 {
		futures = append(futures, s.AcquireFuture(1))
	}
	polls := 0
	h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		polls++
		pending := 0
		for i, f := range futures {
			if f == nil {
				continue
			}
			if _, err := f.Poll(cx); err == sched.ErrPending {
				pending++
			} else {
				futures[i] = nil
			}
		}
		if pending > 0 {
			return 0, sched.ErrPending
		}
		return polls, nil
	}))
	eventually(t, "all wait", func() bool { return s.Waiters() == 300 })
	s.Release(300)
	polls, err := outcome(t, h)
	require.NoError(t, err)
	require.LessOrEqual(t, polls, 1+300+3, "each poll but those that the budget ended was worth it")
	require.True(t, s.AtRest(0))
}
