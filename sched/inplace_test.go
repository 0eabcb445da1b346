package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// An answerer is a goroutine that answers each question at once, as a blocking pool does.
type answerer struct{ questions chan sched.Waker }

func newAnswerer(t *testing.T) *answerer {
	a := &answerer{questions: make(chan sched.Waker, 1)}
	go func() {
		for w := range a.questions {
			w.Wake()
		}
	}()
	t.Cleanup(func() { close(a.questions) })
	return a
}

// question is a future that is pending until it is answered.
func (a *answerer) question(asked *atomic.Int64) sched.Future[struct{}] {
	pending := false
	return sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
		if pending = !pending; !pending {
			return struct{}{}, nil
		}
		asked.Add(1)
		a.questions <- cx.Waker()
		return struct{}{}, sched.ErrPending
	})
}

func ask(cx *sched.Context, a *answerer, asked *atomic.Int64) error {
	_, err := sched.Await(cx, a.question(asked))
	return err
}

func TestATaskThatWaitsForAGoroutineGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		a := newAnswerer(t)
		var asked atomic.Int64
		h := sched.Go(rt, func(cx *sched.Context) (int64, error) {
			for range rounds(10_000) {
				if err := ask(cx, a, &asked); err != nil {
					return 0, err
				}
			}
			return asked.Load(), nil
		})
		n, err := outcome(t, h)
		require.NoError(t, err)
		require.EqualValues(t, rounds(10_000), n)
	})
}

// The task waits in place: the worker runs it far less often than it waits. While other processes
// use the processors it may not, so the test may try more than once.
func TestATaskThatWaitsForAGoroutineIsNotRunAnewEachTime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rt := start(t, sched.Config{Workers: 1})
	a := newAnswerer(t)
	var asked atomic.Int64
	const waits = 20_000 // a worker publishes its counts up to a millisecond late
	eventually(t, "few runs for many waits", func() bool {
		before := rt.Stats().Total.Polled
		_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			for range waits {
				if err := ask(cx, a, &asked); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}))
		require.NoError(t, err)
		pass(t, rt, 0)
		return rt.Stats().Total.Polled-before < waits/2 && rt.Stats().Total.Polled > before
	})
}

// A task whose waits end at once must not keep its worker from other events: tasks from outside,
// timers, an abort, and the runtime's end.
func TestATaskWhoseWaitsEndAtOnceLetsOthersRun(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		a := newAnswerer(t)
		var asked atomic.Int64
		began := make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (int64, error) {
			close(began)
			for {
				if err := ask(cx, a, &asked); err != nil {
					return 0, err
				}
			}
		})
		receive(t, "the task begins", began)
		for worker := range 4 {
			pass(t, rt, worker)
		}
		slept := sched.Go(rt, func(cx *sched.Context) (int64, error) {
			_, err := sched.Await(cx, sched.Future[struct{}](sched.Sleep(3*time.Millisecond)))
			return 0, err
		})
		_, err := outcome(t, slept)
		require.NoError(t, err, "a timer fires beside it")
		before := asked.Load()
		eventually(t, "it goes on itself", func() bool { return asked.Load() > before })
		h.Abort()
		_, err = outcome(t, h)
		require.ErrorIs(t, err, sched.ErrCanceled)
		again := sched.Go(rt, func(cx *sched.Context) (int64, error) {
			for {
				if err := ask(cx, a, &asked); err != nil {
					return 0, err
				}
			}
		})
		before = asked.Load()
		eventually(t, "another one goes on", func() bool { return asked.Load() > before+1000 })
		require.NoError(t, shut(t, rt))
		_, err = outcome(t, again)
		require.ErrorIs(t, err, sched.ErrCanceled)
	})
}
