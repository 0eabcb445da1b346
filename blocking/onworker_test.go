package blocking_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

// onAWorker calls f in a task, and in the Poll of a future.
func onAWorker(t *testing.T, rt *sched.Runtime, f func() error) {
	t.Helper()
	for _, h := range []*sched.JoinHandle[int]{
		sched.Go(rt, func(*sched.Context) (int, error) { return 0, f() }),
		sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, f() })),
	} {
		_, err := result(t, h)
		require.NoError(t, err)
	}
}

func TestAWorkerMustNotWaitForACall(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt, p := start(t, sched.Config{Workers: workers}), newPool(t, blocking.Config{})
		leave := make(chan struct{})
		h := blocking.Submit(p, func() (int, error) { <-leave; return 3, nil })
		var made atomic.Int32
		onAWorker(t, rt, func() error {
			_, err := blocking.Do(context.Background(), p, func() (int, error) { return int(made.Add(1)), nil })
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.ErrorContains(t, err, "blocking.Do on worker ")
			_, err = h.Wait(context.Background())
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.ErrorContains(t, err, "blocking.Handle.Wait on worker ")
			err = p.Shutdown(context.Background())
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.ErrorContains(t, err, "blocking.Pool.Shutdown on worker ")
			return nil
		})
		close(leave)
		v, err := result(t, h)
		require.NoError(t, err)
		require.Equal(t, 3, v)
		onAWorker(t, rt, func() error { // it is done
			v, err := h.Wait(context.Background())
			require.Equal(t, 3, v)
			return err
		})
		require.Zero(t, made.Load(), "a refused call is not made")
		v, err = blocking.Do(t.Context(), p, func() (int, error) { return 4, nil })
		require.NoError(t, err, "a refused Shutdown has no effect")
		require.Equal(t, 4, v)
	}
}

func TestAWorkerEndsAnUnusedPool(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	onAWorker(t, rt, func() error {
		p := blocking.New(blocking.Config{})
		require.NoError(t, p.Close())
		return p.Shutdown(context.Background())
	})
}

// The function runs on a goroutine of the pool.
func TestAFunctionOfDoMayWait(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt, p := start(t, sched.Config{Workers: workers}), newPool(t, blocking.Config{})
		v, err := result(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			return blocking.Do(cx, p, func() (int, error) {
				return sched.Go(rt, func(*sched.Context) (int, error) { return 5, nil }).Wait(context.Background())
			})
		}))
		require.NoError(t, err)
		require.Equal(t, 5, v)
	}
}
