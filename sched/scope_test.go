package sched_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// inScope starts a task of each kind that ends when done is canceled.
func inScope(scope *sched.TaskScope, sp sched.Spawner, done *sched.CancellationToken) []*sched.JoinHandle[struct{}] {
	return []*sched.JoinHandle[struct{}]{
		scope.Spawn(sp, done.Canceled()),
		scope.Go(sp, func(cx *sched.Context) error {
			_, err := sched.Await(cx, done.Canceled())
			return err
		}),
	}
}

func TestAScopeDrainsThenAwaits(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var scope sched.TaskScope
		var flushed sched.CancellationToken
		hs := inScope(&scope, rt, &flushed)
		asked := make(chan struct{}, 2)
		hs = append(hs, scope.Go(rt, func(cx *sched.Context) error {
			_, err := sched.Await(cx, cx.Draining().Canceled())
			asked <- struct{}{}
			return err
		}), scope.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			if cx.Draining() != scope.Draining() {
				t.Error("the token is another one")
			}
			asked <- struct{}{}
			return struct{}{}, nil
		})))
		receive(t, "a stackless task runs", asked)
		waits := sched.Spawn(rt, scope.Wait())
		eventually(t, "three are left", func() bool { return scope.Len() == 3 })
		scope.Drain()
		receive(t, "a stackful task is asked", asked)
		eventually(t, "two are left", func() bool { return scope.Len() == 2 })
		require.False(t, waits.Done())
		require.False(t, scope.CloseIfEmpty())
		late := scope.Go(rt, func(*sched.Context) error { return nil }) // other tasks may need it
		_, err := outcome(t, late)
		require.NoError(t, err)
		flushed.Cancel()
		_, err = outcome(t, waits)
		require.NoError(t, err)
		for _, h := range hs {
			_, err := outcome(t, h)
			require.NoError(t, err)
		}
		require.True(t, scope.CloseIfEmpty())
		_, err = outcome(t, scope.Go(rt, func(*sched.Context) error { t.Error("it is called"); return nil }))
		require.ErrorIs(t, err, sched.ErrClosed)
	})
}

func TestAScopesCloseAbortsAndRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var scope sched.TaskScope
		var never sched.CancellationToken
		hs := inScope(&scope, rt, &never)
		names := strings.Join(scope.Names(), " ")
		require.Contains(t, names, "sched_test.inScope")
		require.Contains(t, names, "*sched.tokenWait")
		scope.Close()
		require.True(t, scope.Draining().IsCanceled())
		for _, h := range hs {
			_, err := outcome(t, h)
			require.ErrorIs(t, err, sched.ErrCanceled)
		}
		_, err := do(t, rt, scope.Wait())
		require.NoError(t, err)
		require.Empty(t, scope.Names())

		p := new(probe[struct{}])
		p.onCancel = func() { scope.Names(); scope.Len(); scope.Close() } // no lock is held
		_, err = outcome(t, scope.Spawn(rt, p))
		require.ErrorIs(t, err, sched.ErrClosed)
		require.EqualValues(t, 1, p.cancels.Load())
		_, err = outcome(t, scope.Go(rt, func(*sched.Context) error { t.Error("it is called"); return nil }))
		require.ErrorIs(t, err, sched.ErrClosed)
		require.Zero(t, scope.Len())
	})
}

func TestAScopeCountsTasksHoweverTheyEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var scope sched.TaskScope
		var never sched.CancellationToken
		for _, h := range inScope(&scope, rt, &never) {
			h.Abort()
		}
		scope.Go(rt, func(*sched.Context) error { _, err := raise("x"); return err })
		scope.Go(rt, func(*sched.Context) error { runtime.Goexit(); return nil })
		scope.Go(rt, func(cx *sched.Context) error {
			inScope(&scope, cx, cx.Draining())[0].Detach()
			_, err := sched.Await(cx, sched.Yield())
			return err
		}).Detach()
		scope.Go(closedRuntime(t), func(*sched.Context) error { return nil })
		scope.Spawn(closedRuntime(t), never.Canceled())
		hold := scope.Hold()
		scope.Drain()
		eventually(t, "the hold is left", func() bool { return scope.Len() == 1 })
		require.False(t, scope.CloseIfEmpty())
		hold()
		_, err := do(t, rt, scope.Wait())
		require.NoError(t, err)
		require.Empty(t, scope.Names())
	})
}

func TestAClosedRuntimeEmptiesAScope(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var scope sched.TaskScope
	var never sched.CancellationToken
	inScope(&scope, rt, &never)
	require.NoError(t, shut(t, rt))
	require.True(t, scope.Len() == 0 && len(scope.Names()) == 0)
}

func TestAScopeThatFollowsATokenIsDrainedByIt(t *testing.T) {
	parent := sched.NewCancellationToken()
	var s, drained, late sched.TaskScope
	s.Follow(parent)
	drained.Follow(parent)
	drained.Drain()
	require.True(t, drained.Draining().IsCanceled())
	require.False(t, parent.IsCanceled(), "a child cancels no parent")
	require.False(t, s.Draining().IsCanceled())
	parent.Cancel()
	require.True(t, s.Draining().IsCanceled())
	late.Follow(parent)
	require.True(t, late.Draining().IsCanceled())
}

func TestTheTokenOfATaskOutsideOfScopesIsTheRuntimes(t *testing.T) {
	end := map[string]func(rt *sched.Runtime) error{
		"Shutdown": func(rt *sched.Runtime) error { return rt.Shutdown(context.Background()) },
		"Close":    func(rt *sched.Runtime) error { return rt.Close() },
	}
	for name, end := range end {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 2})
			h := sched.Go(rt, func(cx *sched.Context) (bool, error) {
				_, err := sched.Await(cx, cx.Draining().Canceled())
				return cx.Draining() == rt.Draining(), err
			})
			token := sched.FutureFunc[*sched.CancellationToken](func(cx *sched.Context) (*sched.CancellationToken, error) {
				return cx.Draining(), nil
			})
			inBlock, err := sched.Block(t.Context(), rt, token)
			require.NoError(t, err)
			require.Same(t, rt.Draining(), inBlock)
			inWait, err := sched.Await(t.Context(), token)
			require.NoError(t, err)
			require.NotSame(t, rt.Draining(), inWait)
			require.False(t, rt.Draining().IsCanceled())
			done := rt.Draining().Done()
			ended := make(chan error, 1)
			go func() { ended <- end(rt) }()
			receive(t, "goroutines are told", done)
			require.NoError(t, receive(t, "the runtime ends", ended))
			if same, err := outcome(t, h); name == "Shutdown" {
				require.NoError(t, err, "Shutdown waits for the task")
				require.True(t, same)
			}
		})
	}
}
