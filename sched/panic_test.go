package sched_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
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
		var runs []string // worker 0 alone, until pass
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

// Nothing can bring the worker's goroutine back, so waiting on would be for ever.
func TestGoexitInATaskStopsTheRuntime(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		other := sched.Spawn(rt, new(gate))
		h := sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) {
			runtime.Goexit()
			return 1, nil
		}))
		_, err := wait(t, h)
		require.ErrorIs(t, err, sched.ErrClosed)
		_, err = wait(t, other)
		require.ErrorIs(t, err, sched.ErrClosed)
		receive(t, "the runtime ends", rt.Done())
		require.ErrorContains(t, shut(t, rt), "Goexit")
	})
}

// A lockedBuffer is a bytes.Buffer for several goroutines.
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
