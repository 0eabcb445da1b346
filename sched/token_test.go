package sched_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestCancelWakesAllThatWaitForTheToken(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		token := sched.NewCancellationToken()
		var waits []*sched.JoinHandle[struct{}]
		for range 100 { // more than one batch of wake-ups
			waits = append(waits,
				sched.Spawn(rt, token.Canceled()),
				sched.Go(rt, func(cx *sched.Context) (struct{}, error) { return sched.Await(cx, token.Canceled()) }))
		}
		eventually(t, "they wait", func() bool { return token.Waiters() == 200 })
		require.False(t, token.IsCanceled())
		token.Cancel()
		require.True(t, token.IsCanceled())
		for _, h := range waits {
			_, err := outcome(t, h)
			require.NoError(t, err)
		}
		require.Zero(t, token.Waiters())
		_, err := do(t, rt, token.Canceled())
		require.NoError(t, err, "once canceled, at once")
		token.Cancel()
	})
}

func TestAParentCancelsItsDescendantsAndNotTheOtherWayRound(t *testing.T) {
	root := new(sched.CancellationToken)
	a, b := root.Child(), root.Child()
	aa, ab := a.Child(), a.Child()
	aa.Cancel()
	require.True(t, aa.IsCanceled())
	require.False(t, a.IsCanceled())
	require.False(t, ab.IsCanceled())
	a.Cancel()
	require.True(t, ab.IsCanceled())
	require.False(t, root.IsCanceled())
	require.False(t, b.IsCanceled())
	require.True(t, a.Child().IsCanceled(), "a child of a canceled token")
	root.Cancel()
	require.True(t, b.IsCanceled())
}

func TestWhoeverIsWokenByAParentSeesTheChildrenCanceled(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range 50 {
			root := new(sched.CancellationToken)
			leaf := root
			for range 20 {
				leaf = leaf.Child()
			}
			h := sched.Go(rt, func(cx *sched.Context) (bool, error) {
				_, err := sched.Await(cx, root.Canceled())
				return leaf.IsCanceled(), err
			})
			eventually(t, "it waits", func() bool { return root.Waiters() == 1 })
			root.Cancel()
			seen, err := outcome(t, h)
			require.NoError(t, err)
			require.True(t, seen)
		}
	})
}

func TestACanceledChildIsNotKept(t *testing.T) {
	root := new(sched.CancellationToken)
	var children []*sched.CancellationToken
	for range 10 {
		children = append(children, root.Child())
	}
	require.Equal(t, 10, root.Children())
	for i, at := range []int{0, 9, 5, 4, 1, 2, 3, 8, 7, 6} {
		children[at].Cancel()
		children[at].Cancel()
		require.Equal(t, 9-i, root.Children())
	}
	root.Child()
	root.Cancel()
	require.Zero(t, root.Children())
}

func TestAnAbandonedWaitLeavesTheToken(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var token sched.CancellationToken
	var waits []*sched.JoinHandle[struct{}]
	for range 5 {
		waits = append(waits, sched.Spawn(rt, token.Canceled()))
	}
	eventually(t, "they wait", func() bool { return token.Waiters() == 5 })
	for i, at := range []int{2, 0, 4, 1, 3} {
		waits[at].Abort()
		_, err := outcome(t, waits[at])
		require.ErrorIs(t, err, sched.ErrCanceled)
		require.Equal(t, 4-i, token.Waiters())
	}
}

func TestWaitingForATokenAllocatesNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var token sched.CancellationToken
	f := token.Canceled().(interface {
		sched.Future[struct{}]
		sched.Canceler
	})
	allocs, err := do(t, rt, sched.FutureFunc[float64](func(cx *sched.Context) (float64, error) {
		return testing.AllocsPerRun(1000, func() {
			_, _ = f.Poll(cx)
			f.Cancel()
		}), nil
	}))
	require.NoError(t, err)
	require.Zero(t, allocs)
}

func TestATokenTellsGoroutines(t *testing.T) {
	root := new(sched.CancellationToken)
	child := root.Child()
	done := child.Done()
	require.Equal(t, done, child.Done())
	select {
	case <-done:
		t.Fatal("not canceled yet")
	default:
	}
	root.Cancel()
	receive(t, "the channel is closed", done)
	receive(t, "one that is made later too", root.Done())
	receive(t, "and a child's", root.Child().Done())
	root.Cancel()
}

func TestATokenAsAContext(t *testing.T) {
	var token sched.CancellationToken
	ctx := token.Context()
	require.NoError(t, ctx.Err())
	require.Nil(t, ctx.Value(t))
	_, has := ctx.Deadline()
	require.False(t, has)
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	token.Cancel()
	receive(t, "it ends", ctx.Done())
	receive(t, "so does one derived from it", derived.Done())
	require.Equal(t, context.Canceled, ctx.Err())
	require.Equal(t, context.Canceled, derived.Err())

	var other sched.CancellationToken
	ctx, cancel = context.WithCancel(context.Background())
	context.AfterFunc(ctx, other.Cancel)
	cancel()
	receive(t, "the other direction", other.Done())
}

func TestCancelChildAndWaitRaceSafely(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for range 20 {
			root := new(sched.CancellationToken)
			var all sync.WaitGroup
			var mu sync.Mutex
			var waits []*sched.JoinHandle[struct{}]
			for range 4 {
				all.Go(func() {
					for i := range 20 {
						c := root.Child()
						h := sched.Spawn(rt, c.Child().Canceled())
						if i%3 == 0 {
							c.Cancel()
						}
						mu.Lock()
						waits = append(waits, h)
						mu.Unlock()
						_ = c.Done()
					}
				})
			}
			all.Go(root.Cancel)
			all.Go(root.Cancel)
			awaitAll(t, &all)
			for _, h := range waits {
				_, err := outcome(t, h)
				require.NoError(t, err)
			}
			require.Zero(t, root.Children())
		}
	})
}
