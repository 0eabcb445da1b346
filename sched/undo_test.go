package sched_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A lock is a future that acquires something that its value does not show.
type lock struct {
	held int
}

func (l *lock) Poll(*sched.Context) (struct{}, error) { l.held++; return struct{}{}, nil }
func (l *lock) Undo()                                 { l.held-- }

// A byPointer is a Releaser by its pointer.
type byPointer struct{ released *atomic.Int64 }

func (b *byPointer) Release() { b.released.Add(1) }

// A discarded is a result whose Release has a result.
type discarded struct{ released *atomic.Int64 }

func (d *discarded) Release() int { return 0 }
func (d *discarded) Discard()     { d.released.Add(1) }

func waiting[T any]() sched.Future[T] {
	return sched.FutureFunc[T](func(*sched.Context) (T, error) { return *new(T), sched.ErrPending })
}

func broken[T any]() sched.Future[T] {
	return sched.FutureFunc[T](func(*sched.Context) (T, error) { return *new(T), io.EOF })
}

// A canceling future panics when it is abandoned.
type canceling struct{}

func (canceling) Poll(*sched.Context) (struct{}, error) { return struct{}{}, sched.ErrPending }
func (canceling) Cancel()                               { panic("in Cancel") }

type unit = struct{}

// wrappers are futures of the package around another one, which are done when it is.
func wrappers() map[string]func(sched.Future[unit]) sched.Future[any] {
	return map[string]func(sched.Future[unit]) sched.Future[any]{
		"plain":   func(f sched.Future[unit]) sched.Future[any] { return sched.Any(f) },
		"Timeout": func(f sched.Future[unit]) sched.Future[any] { return sched.Any[unit](sched.Timeout(time.Hour, f)) },
		"Deadline": func(f sched.Future[unit]) sched.Future[any] {
			return sched.Any(sched.Deadline(time.Now().Add(time.Hour), f))
		},
		"WithContext": func(f sched.Future[unit]) sched.Future[any] {
			ctx, cancel := context.WithCancel(context.Background())
			_ = cancel
			return sched.Any(sched.WithContext(ctx, f))
		},
		"Unconstrained": func(f sched.Future[unit]) sched.Future[any] { return sched.Any(sched.Unconstrained(f)) },
		"Shield":        func(f sched.Future[unit]) sched.Future[any] { return sched.Any(sched.Shield(f)) },
		"Track": func(f sched.Future[unit]) sched.Future[any] {
			return sched.Any(sched.Track(new(sched.TaskTracker), f))
		},
		"Select": func(f sched.Future[unit]) sched.Future[any] { return sched.Any(sched.Select(waiting[unit](), f)) },
		"SelectBiased": func(f sched.Future[unit]) sched.Future[any] {
			return sched.Any(sched.SelectBiased(waiting[unit](), f))
		},
		"Race":    func(f sched.Future[unit]) sched.Future[any] { return sched.Any(sched.Race(waiting[unit](), f)) },
		"Join":    func(f sched.Future[unit]) sched.Future[any] { return sched.Any(sched.Join(f)) },
		"JoinAll": func(f sched.Future[unit]) sched.Future[any] { return sched.Any(sched.JoinAll(f, broken[unit]())) },
		"Join2 of Join3": func(f sched.Future[unit]) sched.Future[any] {
			return sched.Any(sched.Join2(sched.Join3(f, ready(1, nil), ready(2, nil)), ready(3, nil)))
		},
	}
}

func TestAnAbandonedJoinUndoesWhatItsFuturesHaveAcquired(t *testing.T) {
	for name, wrap := range wrappers() {
		t.Run(name, func(t *testing.T) {
			ends := map[string]func(t *testing.T, rt *sched.Runtime, f sched.Future[any]){
				"timeout": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					_, err := do(t, rt, sched.Future[[]any](sched.Timeout(0, sched.Join(f, waiting[any]()))))
					require.Equal(t, sched.ErrTimeout, err)
				},
				"timeout of JoinAll": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					_, err := do(t, rt, sched.Future[[]sched.Result[any]](sched.Timeout(0, sched.JoinAll(f, waiting[any]()))))
					require.Equal(t, sched.ErrTimeout, err)
				},
				"failure": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					_, err := do(t, rt, sched.Join(f, broken[any]()))
					require.Equal(t, io.EOF, err)
				},
				"failure of a nested one": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					_, err := do(t, rt, sched.Join2(sched.Join2(f, waiting[int]()), broken[any]()))
					require.Equal(t, io.EOF, err)
				},
				"abort": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					polled := make(chan struct{})
					h := sched.Spawn(rt, sched.Join2(f, signaling(polled)))
					receive(t, "the Join is polled", polled)
					h.Abort()
					_, err := outcome(t, h)
					require.ErrorIs(t, err, sched.ErrCanceled)
				},
				"abort of a stackful task": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					polled := make(chan struct{})
					h := sched.Go(rt, func(cx *sched.Context) (unit, error) {
						_, err := sched.Await(cx, sched.Join2(f, signaling(polled)))
						return unit{}, err
					})
					receive(t, "the Join is polled", polled)
					h.Abort()
					_, err := outcome(t, h)
					require.ErrorIs(t, err, sched.ErrCanceled)
				},
				"close": func(t *testing.T, _ *sched.Runtime, f sched.Future[any]) {
					rt := sched.New(sched.Config{Workers: 1})
					require.NoError(t, rt.Start())
					polled := make(chan struct{})
					h := sched.Spawn(rt, sched.Join2(f, signaling(polled)))
					receive(t, "the Join is polled", polled)
					require.NoError(t, shut(t, rt))
					_, err := outcome(t, h)
					require.Error(t, err)
				},
				"panic": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					_, err := do(t, rt, sched.Join2(f, sched.FutureFunc[int](func(*sched.Context) (int, error) { panic("x") })))
					require.ErrorAs(t, err, new(*sched.PanicError))
				},
				"panic of a loser": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					_, err := do(t, rt, sched.SelectBiased(sched.Any[unit](canceling{}), f))
					require.ErrorAs(t, err, new(*sched.PanicError))
				},
				"end of Wait": func(t *testing.T, _ *sched.Runtime, f sched.Future[any]) {
					ctx, cancel := context.WithCancel(context.Background())
					cancel()
					_, err := sched.Await(ctx, sched.Join(f, waiting[any]()))
					require.Equal(t, context.Canceled, err)
				},
				"detached": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					h := sched.Spawn(rt, f)
					eventually(t, "the task ends", h.Done)
					h.Detach()
				},
				"closed set": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					var set sched.JoinSet[any]
					h := set.Spawn(rt, f)
					eventually(t, "the task ends", h.Done)
					set.Close()
				},
				"shut down set": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					var set sched.JoinSet[any]
					h := set.Spawn(rt, f)
					eventually(t, "the task ends", h.Done)
					_, err := do(t, rt, set.Shutdown())
					require.NoError(t, err)
				},
				"JoinNext in a Join": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					var set sched.JoinSet[any]
					h := set.Spawn(rt, f)
					eventually(t, "the task ends", h.Done)
					_, err := do(t, rt, sched.Future[[]any](sched.Timeout(0, sched.Join(set.JoinNext(), waiting[any]()))))
					require.Equal(t, sched.ErrTimeout, err)
				},
				"JoinAll of a set": func(t *testing.T, rt *sched.Runtime, f sched.Future[any]) {
					var set sched.JoinSet[any]
					h := set.Spawn(rt, f)
					eventually(t, "the task ends", h.Done)
					set.Spawn(rt, waiting[any]())
					_, err := do(t, rt, sched.Future[[]sched.Result[any]](sched.Timeout(0, set.JoinAll())))
					require.Equal(t, sched.ErrTimeout, err)
					set.Close()
				},
			}
			for end, abandon := range ends {
				rt := start(t, sched.Config{Workers: 1})
				l := new(lock)
				abandon(t, rt, wrap(l))
				require.Zero(t, l.held, end)
			}
		})
	}
}

// signaling is pending, and closes the channel at its first poll.
func signaling(polled chan struct{}) sched.Future[int] {
	first := true
	return sched.FutureFunc[int](func(*sched.Context) (int, error) {
		if first {
			first = false
			close(polled)
		}
		return 0, sched.ErrPending
	})
}

// A result that a caller gets is not undone.
func TestAResultThatIsTakenIsNotUndone(t *testing.T) {
	for name, wrap := range wrappers() {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1})
			l := new(lock)
			_, err := do(t, rt, wrap(l))
			require.NoError(t, err)
			require.Equal(t, 1, l.held)
			var set sched.JoinSet[any]
			set.Spawn(rt, wrap(l))
			_, err = do(t, rt, set.JoinNext())
			require.NoError(t, err)
			require.Equal(t, 2, l.held)
		})
	}
}

func TestAFutureThatHasFailedIsNotUndone(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	undone := new(failedLock)
	_, err := do(t, rt, sched.Future[[]sched.Result[unit]](sched.Timeout(0, sched.JoinAll[unit](undone, waiting[unit]()))))
	require.Equal(t, sched.ErrTimeout, err)
	h := sched.Spawn[unit](rt, undone)
	eventually(t, "the task ends", h.Done)
	h.Detach()
	require.Zero(t, undone.undone)
}

type failedLock struct{ undone int }

func (l *failedLock) Poll(*sched.Context) (unit, error) { return unit{}, io.EOF }
func (l *failedLock) Undo()                             { l.undone++ }

func TestAResultThatNobodyTakesIsReleased(t *testing.T) {
	var released atomic.Int64
	results := map[string]func(rt *sched.Runtime){
		"by pointer": func(rt *sched.Runtime) { forgotten(rt, byPointer{&released}, nil) },
		"a pointer":  func(rt *sched.Runtime) { forgotten(rt, &byPointer{&released}, nil) },
		"with Discard": func(rt *sched.Runtime) {
			forgotten(rt, discarded{&released}, nil)
		},
		"in an interface": func(rt *sched.Runtime) {
			forgotten[any](rt, byPointer{&released}, nil)
		},
		"in a slice": func(rt *sched.Runtime) {
			forgotten(rt, []byPointer{{}, {&released}}, nil)
		},
		"in a slice of pointers": func(rt *sched.Runtime) {
			forgotten(rt, []*byPointer{nil, {&released}}, nil)
		},
		"in a Result": func(rt *sched.Runtime) {
			forgotten(rt, sched.Result[byPointer]{Value: byPointer{&released}}, nil)
		},
		"in a Selected": func(rt *sched.Runtime) {
			forgotten(rt, sched.Selected[byPointer]{Value: byPointer{&released}}, nil)
		},
		"in an Expired": func(rt *sched.Runtime) {
			forgotten(rt, sched.Expired[byPointer]{Value: byPointer{&released}}, nil)
		},
		"of a Join that has failed": func(rt *sched.Runtime) {
			forgotten(rt, []*byPointer{{&released}, nil}, io.EOF)
		},
		"of a Join2 that has failed": func(rt *sched.Runtime) {
			forgotten(rt, sched.Pair[*byPointer, *byPointer]{First: &byPointer{&released}}, io.EOF)
		},
		"of a Join3 that has failed": func(rt *sched.Runtime) {
			forgotten(rt, sched.Triple[*byPointer, int, byPointer]{First: &byPointer{&released}}, io.EOF)
		},
	}
	for name, spawn := range results {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1})
			before := released.Load()
			spawn(rt)
			eventually(t, "it is released", func() bool { return released.Load() == before+1 })
		})
	}
}

// forgotten starts a task whose result nobody takes.
func forgotten[T any](rt *sched.Runtime, v T, err error) {
	sched.Go(rt, func(*sched.Context) (T, error) { return v, err }).Detach()
}

func TestWaitWithATimeout(t *testing.T) {
	_, err := sched.Await[unit](t.Context(), sched.Timeout(time.Millisecond, waiting[unit]()))
	require.Equal(t, sched.ErrTimeout, err)
	_, err = sched.Await(t.Context(), sched.Deadline(time.Now().Add(time.Millisecond), waiting[unit]()))
	require.Equal(t, sched.ErrTimeout, err)
	_, err = sched.Await[unit](t.Context(), sched.Timeout(-1, waiting[unit]()))
	require.Equal(t, sched.ErrTimeout, err)
	_, err = sched.Await[unit](t.Context(), sched.Sleep(time.Millisecond))
	require.NoError(t, err)
	_, err = sched.Await[unit](t.Context(), new(sched.SleepFuture))
	require.NoError(t, err)
	ticks := sched.NewInterval(time.Millisecond)
	for range 3 {
		_, err = sched.Await[time.Duration](t.Context(), ticks)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sched.Await[unit](ctx, sched.Timeout(time.Hour, waiting[unit]()))
	require.True(t, errors.Is(err, context.Canceled))
	require.PanicsWithValue(t, "sched: a time of a runtime, in the Await of a goroutine, which has no runtime: use Block", func() {
		_, _ = sched.Await[unit](t.Context(), sched.SleepUntil(time.Hour))
	})
}
