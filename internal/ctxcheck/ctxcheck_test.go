package ctxcheck_test

import (
	"context"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

func TestOnlyAContextThatIsNotTheTasksOwnHasEnded(t *testing.T) {
	var none context.Context
	require.NoError(t, ctxcheck.Ended(none))
	ctx, cancel := context.WithCancelCause(t.Context())
	require.NoError(t, ctxcheck.Ended(ctx))
	cancel(io.ErrNoProgress)
	require.ErrorIs(t, ctxcheck.Ended(ctx), context.Canceled)
	require.ErrorIs(t, ctxcheck.Ended(ctx), io.ErrNoProgress)

	rt := sched.New(sched.Config{Workers: 1})
	defer func() { require.NoError(t, rt.Close()) }()
	type ends struct{ task, own, derived error }
	got, begun := make(chan ends, 1), make(chan struct{})
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		derived, stop := context.WithCancel(cx)
		defer stop()
		_, _ = sched.Await(cx, sched.FutureFunc[int](func(*sched.Context) (int, error) {
			close(begun)
			return 0, sched.ErrPending
		}))
		for derived.Err() == nil { // the abort reaches it a moment later
			runtime.Gosched()
		}
		got <- ends{cx.Err(), ctxcheck.Ended(cx), ctxcheck.Ended(derived)}
		return 0, nil
	})
	<-begun
	h.Abort()
	aborted := <-got
	require.Error(t, aborted.task)
	require.NoError(t, aborted.own)
	require.ErrorIs(t, aborted.derived, context.Canceled)
}

// On a worker an ordinary context is refused, and a nil one anywhere.
func TestAWaitIsRefusedBeforeItBegins(t *testing.T) {
	var none context.Context
	for _, check := range []func(context.Context) error{ctxcheck.Refused, ctxcheck.Blocks} {
		require.ErrorIs(t, check(none), sched.ErrMisuse)
		require.NoError(t, check(t.Context()))
	}
	rt := sched.New(sched.Config{Workers: 1})
	defer func() { require.NoError(t, rt.Close()) }()
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		derived, stop := context.WithCancel(cx)
		defer stop()
		for _, ctx := range []context.Context{cx, derived} {
			require.NoError(t, ctxcheck.Refused(ctx))
			require.ErrorIs(t, ctxcheck.Blocks(ctx), sched.ErrBlocksWorker)
		}
		require.ErrorIs(t, ctxcheck.Refused(context.Background()), sched.ErrBlocksWorker)
		require.ErrorIs(t, ctxcheck.Blocks(context.Background()), sched.ErrBlocksWorker)
		require.ErrorIs(t, ctxcheck.Refused(none), sched.ErrMisuse)
		return 0, nil
	})
	_, err := h.Wait(t.Context())
	require.NoError(t, err)
}
