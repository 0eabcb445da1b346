package sched_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func ended(t testing.TB, ctx context.Context) {
	t.Helper()
	receive(t, "a context ends", ctx.Done())
}

// The task is aborted while it is in a call that only the context can end.
func TestAnAbortEndsTheContextOfATaskThatIsWithinACall(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		within := make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			must(cx.Err() == nil, "it has ended")
			close(within)
			<-cx.Done()
			must(context.Cause(cx) == sched.ErrCanceled && cx.Err() == context.Canceled, "%v", context.Cause(cx))
			return struct{}{}, cx.Err()
		})
		receive(t, "the task is within a call", within)
		h.Abort()
		_, err := outcome(t, h)
		require.Equal(t, context.Canceled, err)
		require.Zero(t, rt.Contexts())
	})
}

func TestAContextEndsWithItsTaskHoweverThatEnds(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		made := make(chan context.Context, 1)
		for _, spawn := range []func() *sched.JoinHandle[int]{
			func() *sched.JoinHandle[int] {
				return sched.Go(rt, func(cx *sched.Context) (int, error) { made <- cx; return 1, nil })
			},
			func() *sched.JoinHandle[int] {
				return sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) { made <- cx; return 1, nil }))
			},
			func() *sched.JoinHandle[int] {
				return sched.Go(rt, func(cx *sched.Context) (int, error) { made <- cx; return raise("oh") })
			},
		} {
			h := spawn()
			ctx := receive(t, "a context is made", made)
			_, _ = outcome(t, h)
			ended(t, ctx)
			require.Equal(t, context.Canceled, context.Cause(ctx))
			require.Zero(t, rt.Contexts())
		}
		freeTask(rt, func(cx *sched.Context) bool { made <- cx; return true }).Wake()
		ended(t, receive(t, "a context is made", made))
		require.Zero(t, rt.Contexts())
	})
}

func TestAContextMadeInATaskThatWasAbortedHasEnded(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	started := make(chan struct{})
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		close(started)
		_, err := sched.Await(cx, sched.Sleep(time.Hour))
		must(err == sched.ErrCanceled, "%v", err)
		must(context.Cause(cx) == sched.ErrCanceled, "it goes on")
		return struct{}{}, nil
	})
	receive(t, "the task runs", started)
	h.Abort()
	_, err := outcome(t, h)
	require.NoError(t, err)
}

func TestAShieldDefersTheEndOfAContext(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		shielded, aborted := make(chan struct{}), make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			ctx, cancel := context.WithTimeout(cx, time.Hour)
			defer cancel()
			cx.Shield()
			close(shielded)
			<-aborted
			must(ctx.Err() == nil && cx.Err() == nil, "it ended behind a shield")
			cx.Unshield()
			must(context.Cause(cx) == sched.ErrCanceled && context.Cause(ctx) == sched.ErrCanceled, "it goes on without a shield")

			cx.Shield()
			defer cx.Unshield()
			cleaning, cancel := context.WithTimeout(context.WithoutCancel(cx), time.Hour)
			defer cancel()
			_, err := sched.Await(cleaning, sched.Yield())
			must(err == nil, "cleaning up: %v", err)
			return struct{}{}, nil
		})
		receive(t, "the shield is up", shielded)
		h.Abort()
		close(aborted)
		_, err := outcome(t, h)
		require.NoError(t, err)
	})
}

func TestAShieldedFutureDefersTheEndOfAContext(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	made := make(chan context.Context, 1)
	p := new(probe[int])
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		made <- cx
		return sched.Await(cx, sched.Shield[int](p))
	})
	ctx := receive(t, "a context is made", made)
	p.polled(t)
	h.Abort()
	require.NoError(t, ctx.Err())
	p.finish(1, nil)
	_, err := outcome(t, h)
	require.NoError(t, err)
	require.Equal(t, sched.ErrCanceled, context.Cause(ctx))
}

func TestClosingTheRuntimeEndsItsContexts(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt := start(t, sched.Config{Workers: workers})
		within := make(chan struct{})
		h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			cx.Shield() // it protects against aborts only
			close(within)
			<-cx.Done()
			must(context.Cause(cx) == sched.ErrClosed, "%v", context.Cause(cx))
			return struct{}{}, nil
		})
		receive(t, "the task is within a call", within)
		require.NoError(t, shut(t, rt))
		_, err := outcome(t, h)
		require.NoError(t, err)
	}
}

// A function's context has the values of none other, and a Body's those of its parent.
func TestATaskInheritsNoValues(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		_, has := cx.Deadline()
		must(cx.Value(contextKey{}) == nil && !has, "without a parent")
		ctx := context.WithValue(cx, contextKey{}, "request")
		must(ctx.Value(contextKey{}) == "request" && sched.FromContext(ctx) == cx, "derived")
		child := sched.Go(cx, func(cx *sched.Context) (any, error) { return cx.Value(contextKey{}), nil })
		must(await(cx, child) == nil, "inherited by a task")
		return struct{}{}, nil
	})
	_, err := outcome(t, h)
	require.NoError(t, err)
}

func TestInAPollOfAGoroutineTheContextIsTheOneThatWasGiven(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	deadline := time.Now().Add(time.Hour)
	given, cancel := context.WithDeadline(context.WithValue(t.Context(), contextKey{}, 1), deadline)
	defer cancel()
	f := sched.FutureFunc[any](func(cx *sched.Context) (any, error) {
		at, has := cx.Deadline()
		must(has && at.Equal(deadline) && cx.Done() == given.Done() && cx.Err() == nil, "%v %v", at, has)
		return cx.Value(contextKey{}), nil
	})
	for _, wait := range []func() (any, error){
		func() (any, error) { return sched.Block(given, rt, sched.Future[any](f)) },
		func() (any, error) { return sched.Await(given, sched.Future[any](f)) },
	} {
		got, err := wait()
		require.NoError(t, err)
		require.Equal(t, 1, got)
	}
}

// A parentalHost is a host that provides a parent for its coroutines' contexts.
type parentalHost struct {
	*host
	parent context.Context
}

func (h parentalHost) TaskContext(bool) context.Context { return h.parent }

func TestTheContextOfACoroutineIsItsOwnAndHasTheBodysParent(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	made := make(chan context.Context, 2)
	leave := new(probe[int])
	h := newHost(rt,
		func(cx *sched.Context) error { made <- cx; return nil },
		func(cx *sched.Context) error {
			made <- cx
			_, err := sched.Await(cx, sched.Shield[int](leave))
			must(err == nil, "%v", err)
			must(context.Cause(cx) == sched.ErrCanceled, "%v", context.Cause(cx))
			return err
		})
	h.task.Init(rt, parentalHost{h, context.WithValue(context.Background(), contextKey{}, 7)})
	h.task.Wake()
	first, second := receive(t, "a context is made", made), receive(t, "a context is made", made)
	ended(t, first)
	require.Equal(t, 7, second.Value(contextKey{}))
	leave.polled(t)
	runs := h.runs.Load()
	h.stop.Store(true)
	h.task.Wake()
	eventually(t, "it is canceled", func() bool { return h.runs.Load() > runs })
	require.NoError(t, second.Err(), "behind a shield")
	leave.finish(1, nil)
	for _, err := range receive(t, "all are done", h.ended) {
		require.NoError(t, err)
	}
	ended(t, second)
	require.Zero(t, rt.Contexts())
}

// Memory of tasks is reused: a late abort must not end another task's context.
func TestAbortsAndContextsOfManyTasksDoNotMeetOthers(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for i := range rounds(500) {
			h := sched.Go(rt, func(cx *sched.Context) (error, error) {
				ctx := cx
				_, _ = sched.Await(cx, sched.Yield())
				return context.Cause(ctx), nil
			})
			aborted := make(chan struct{})
			if i%2 == 0 {
				go func() { h.Abort(); close(aborted) }()
			} else {
				close(aborted)
			}
			cause, err := outcome(t, h)
			if i%2 != 0 {
				require.NoError(t, err)
				require.NoError(t, cause, "round %d", i)
			}
			receive(t, "it is aborted", aborted)
		}
		require.Zero(t, rt.Contexts())
	})
}

func BenchmarkContext(b *testing.B) {
	rt := start(b, sched.Config{Workers: 1})
	b.ReportAllocs()
	for b.Loop() {
		h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			cx.Done()
			return struct{}{}, nil
		})
		_, _ = h.Wait(context.Background())
	}
}
