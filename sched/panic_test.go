package sched_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func raise(v any) (int, error) { panic(v) }

func TestAPanicIsTheTasksError(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for _, v := range []any{"a value", 42, io.ErrNoProgress} {
			_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return raise(v) })))
			var p *sched.PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, v, p.Value)
			require.Contains(t, string(p.Stack), "sched_test.raise", "the stack shows where")
			if e, ok := v.(error); ok {
				require.ErrorIs(t, err, e)
			} else {
				require.NoError(t, errors.Unwrap(err))
			}
		}
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
	})
}

func TestAPanicOnALaterPollIsTheTasksErrorToo(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		polls := 0
		_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if polls++; polls == 1 {
				cx.Waker().Wake()
				return 0, sched.ErrPending
			}
			return raise("later")
		})))
		var p *sched.PanicError
		require.ErrorAs(t, err, &p)
	})
}

func TestAPanicThatEscapesABodyEndsThatTaskAlone(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		log := new(lockedBuffer)
		fakes := make([]*fake, workers)
		for i := range fakes {
			fakes[i] = newFake()
		}
		rt := startOn(t, sched.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}, fakes)
		var runs []string // only worker 0 uses it until pass
		release := occupy(t, rt, 0)
		wild := newTask(rt, 0, func(*sched.Context) bool {
			runs = append(runs, "wild")
			_, err := raise("escaped")
			return err == nil
		})
		wild.Wake()
		newTask(rt, 0, func(*sched.Context) bool { runs = append(runs, "behind it"); return true }).Wake()
		release()
		pass(t, rt, 0)
		wild.Wake()
		pass(t, rt, 0)
		require.Equal(t, []string{"wild", "behind it"}, runs)
		require.Contains(t, log.String(), "escaped")
		require.Contains(t, log.String(), "sched_test.raise")
	}
}

func TestEveryTaskOfATickMayPanic(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		release := occupy(t, rt, 0)
		for range 300 {
			newTask(rt, 0, func(*sched.Context) bool { panic("all of them") }).Wake()
		}
		release()
		pass(t, rt, 0)
	})
}

// Nothing can stop runtime.Goexit: the worker goes on in a deferred call.
func TestGoexitIsTheTasksError(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		before, other := sched.Spawn(rt, ready(1, nil)), new(gate)
		waiting := sched.Spawn(rt, other)
		for range 3 * rt.Workers() {
			_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) {
				runtime.Goexit()
				return 1, nil
			})))
			require.ErrorIs(t, err, sched.ErrGoexit)
		}
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
		_, err := wait(t, before)
		require.NoError(t, err)
		other.Open("still there")
		v, err := wait(t, waiting)
		require.NoError(t, err)
		require.Equal(t, "still there", v)
		require.NoError(t, shut(t, rt))
	})
}

func TestEveryTaskOfATickMayGoexit(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		release := occupy(t, rt, 0)
		var deferred atomic.Int64
		for range 300 {
			newTask(rt, 0, func(*sched.Context) bool {
				defer deferred.Add(1)
				runtime.Goexit()
				return true
			}).Wake()
		}
		release()
		pass(t, rt, 0)
		require.EqualValues(t, 300, deferred.Load())
	})
}

func TestAPanicOrAnExitAfterAYieldIsTheEnd(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("late") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				var polls atomic.Int64
				_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
					polls.Add(1)
					_, _ = sched.Yield().Poll(cx) // the task would run once more
					cx.Waker().Wake()             // and is woken as well
					end()
					return 0, nil
				})))
				require.Error(t, err)
				for home := range rt.Workers() {
					pass(t, rt, home)
					pass(t, rt, home)
				}
				require.EqualValues(t, 1, polls.Load())
			})
		})
	}
}

// A lockedBuffer is a bytes.Buffer that several goroutines may use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
