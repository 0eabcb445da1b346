package sched_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	threads "github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

// refused requires that a wait with ctx is refused, and that its future was abandoned unpolled.
func refused(ctx context.Context) error {
	p := new(probe[int])
	_, err := sched.Await[int](ctx, p)
	must(errors.Is(err, sched.ErrMisuse), "not refused: %v", err)
	must(p.polls.Load() == 0, "it was polled")
	return err
}

// lent are contexts of a task, or derived from it.
func lent(cx *sched.Context) []context.Context {
	timed, cancel := context.WithCancel(cx)
	context.AfterFunc(cx, cancel)
	return []context.Context{cx, timed, context.WithValue(cx, contextKey{}, 1), context.WithoutCancel(cx)}
}

// A task lends its context to others, and waits for them.
func TestATasksContextIsRefusedOutsideOfTheTask(t *testing.T) {
	var pool threads.Pool
	for name, elsewhere := range map[string]func(cx *sched.Context, f func()){
		"a goroutine, while the task runs": func(_ *sched.Context, f func()) {
			var done sync.WaitGroup
			done.Go(f)
			done.Wait()
		},
		"a goroutine, while the task waits": func(cx *sched.Context, f func()) {
			done := make(chan struct{})
			go func() { defer close(done); f() }()
			_, err := sched.Await(cx, sched.Recv(done))
			must(errors.Is(err, sched.ErrChanClosed), "%v", err)
		},
		"a blocking call": func(cx *sched.Context, f func()) {
			_, err := threads.Do(cx, &pool, func() (int, error) { f(); return 0, nil })
			must(err == nil, "%v", err)
		},
		"another task": func(cx *sched.Context, f func()) {
			await(cx, sched.Go(cx, func(*sched.Context) (int, error) { f(); return 0, nil }))
		},
		"a task of another runtime": func(cx *sched.Context, f func()) {
			other := sched.New(sched.Config{Workers: 1})
			defer func() { _, _ = threads.Do(cx, &pool, func() (int, error) { return 0, other.Close() }) }()
			await(cx, sched.Go(other, func(*sched.Context) (int, error) { f(); return 0, nil }))
		},
		"a stackless task": func(cx *sched.Context, f func()) {
			await(cx, sched.Spawn(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) { f(); return 0, nil })))
		},
		"a timer": func(cx *sched.Context, f func()) {
			done := make(chan struct{})
			cx.Runtime().AfterFunc(time.Microsecond, func() { defer close(done); f() })
			_, _ = sched.Await(cx, sched.Recv(done))
		},
		"a Coroutine of another task": func(cx *sched.Context, f func()) {
			done := make(chan struct{})
			newTask(cx.Runtime(), 0, func(cx *sched.Context) bool {
				var c sched.Coroutine
				return c.Begin(cx, func(*sched.Context) error { defer close(done); f(); return nil })
			}).Wake()
			_, _ = sched.Await(cx, sched.Recv(done))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, workers := range []int{1, 2, 4} {
				rt := start(t, sched.Config{Workers: workers})
				_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
					for _, ctx := range lent(cx) {
						elsewhere(cx, func() { must(refused(ctx) != nil, "") })
					}
					return await(cx, sched.Go(cx, func(*sched.Context) (int, error) { return 0, nil })), nil
				}))
				require.NoError(t, err)
			}
		})
	}
}

func TestAContextIsRefusedAfterTheEndOfItsTask(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var old []context.Context
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) { old = lent(cx); return 0, nil }))
	require.NoError(t, err)
	for _, ctx := range old {
		require.ErrorIs(t, refused(ctx), sched.ErrMisuse)
	}
	_, err = outcome(t, sched.Go(rt, func(*sched.Context) (int, error) { // on the same stack
		for _, ctx := range old {
			must(refused(ctx) != nil, "")
		}
		return 0, nil
	}))
	require.NoError(t, err)
}

func TestAPollMustNotWait(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	poll := sched.FutureFunc[error](func(cx *sched.Context) (error, error) { return refused(cx), nil })
	refusal, err := outcome(t, sched.Spawn(rt, sched.Future[error](poll)))
	require.NoError(t, err)
	require.ErrorContains(t, refusal, "poll the future")
	refusal, err = sched.Await(t.Context(), sched.Future[error](poll))
	require.NoError(t, err)
	require.ErrorContains(t, refusal, "poll the future")
}

func TestATasksContextIsRefusedInAHook(t *testing.T) {
	refusals := make(chan error, 10)
	var of context.Context
	rt := start(t, sched.Config{Workers: 1, Hooks: sched.Hooks{TaskEnd: func(sched.TaskID, error) { refusals <- refused(of) }}})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) { of = cx; return 0, nil }))
	require.NoError(t, err)
	require.ErrorIs(t, receive(t, "a hook is called", refusals), sched.ErrMisuse)
}

func TestANilContextIsRefused(t *testing.T) {
	var none *sched.Context
	for _, ctx := range []context.Context{nil, none} {
		require.ErrorContains(t, refused(ctx), "nil")
		rt := start(t, sched.Config{Workers: 1})
		_, err := sched.Block(ctx, rt, sched.Future[int](new(probe[int])))
		require.ErrorIs(t, err, sched.ErrMisuse)
		_, err = sched.Go(rt, func(*sched.Context) (int, error) { return 1, nil }).Wait(ctx)
		require.ErrorIs(t, err, sched.ErrMisuse)
		require.Nil(t, sched.WithoutTask(ctx))
	}
}

// The error names the call and the remedy, and the remedy works.
func TestWithoutTaskLendsAContextToAGoroutine(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	_, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
		ctx, cancel := context.WithCancel(context.WithValue(cx, contextKey{}, "kept"))
		defer cancel()
		errs := make(chan error, 2)
		go func() {
			errs <- refused(ctx)
			outside := sched.WithoutTask(ctx)
			must(outside.Value(contextKey{}) == "kept" && sched.FromContext(outside) == nil, "%v", outside)
			_, err := sched.Await(outside, sched.NewCancellationToken().Canceled())
			errs <- err
		}()
		refusal, err := sched.Await(cx, sched.Recv(errs))
		must(err == nil, "%v", err)
		must(refusal.Error() == "sched: wrong context for sched.Await: its task has ended, or this is another "+
			"goroutine or task: pass the own task's context, or in a goroutine sched.WithoutTask(ctx)", "%v", refusal)
		cancel()
		err, _ = sched.Await(cx, sched.Recv(errs))
		must(errors.Is(err, context.Canceled), "%v", err)
		return 0, nil
	}))
	require.NoError(t, err)
}
