package syncx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// onAWorker is the error of f, in a task and then in the Poll of a future.
func onAWorker(t *testing.T, rt *sched.Runtime, f func() error) []error {
	t.Helper()
	_, inTask := outcome(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, f() }))
	_, inPoll := outcome(t, sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, f() })))
	return []error{inTask, inPoll}
}

// A wait for a goroutine succeeds on a worker if it need not wait. Otherwise it is refused, and
// leaves nothing behind.
func TestAGoroutinesWaitIsRefusedOnAWorker(t *testing.T) {
	var mu syncx.Mutex
	var rw syncx.RWMutex
	var n syncx.Notify
	sem, barrier := syncx.NewSemaphore(1), syncx.NewBarrier(2)
	ctx := context.Background()
	waits := map[string]struct {
		wait func() error
		free func() // makes the next wait succeed; nil: it never does
		take func() // makes the next wait refused; nil: it always is
	}{
		"Mutex.Lock":        {func() error { return mu.Lock(ctx) }, mu.Unlock, func() { mu.TryLock() }},
		"RWMutex.Lock":      {func() error { return rw.Lock(ctx) }, rw.Unlock, func() { rw.TryLock() }},
		"RWMutex.RLock":     {func() error { return rw.RLock(ctx) }, nil, func() { rw.TryLock() }},
		"Semaphore.Acquire": {func() error { return sem.Acquire(ctx, 1) }, func() { sem.Release(1) }, func() { sem.TryAcquire(1) }},
		"Notify.Wait":       {func() error { return n.Wait(ctx) }, n.NotifyOne, nil},
		"Barrier.Wait":      {func() error { _, err := barrier.Wait(ctx); return err }, nil, nil},
	}
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for name, w := range waits {
			t.Run(name, func(t *testing.T) {
				if w.take != nil {
					w.take()
				}
				for _, err := range onAWorker(t, rt, w.wait) {
					require.ErrorIs(t, err, sched.ErrBlocksWorker)
					require.ErrorContains(t, err, "syncx."+name+" on worker ")
				}
				if w.free != nil {
					for _, err := range onAWorker(t, rt, func() error { w.free(); return w.wait() }) {
						require.NoError(t, err)
					}
				}
			})
		}
	})
}

func TestTheInitializerOfAOnceCellIsNotAwaitedOnAWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var cell syncx.OnceCell[int]
		get := func(v int) error {
			got, err := cell.GetOrInit(context.Background(), func(context.Context) (int, error) { return v, nil })
			if err == nil && got != 1 {
				err = fmt.Errorf("the value is %d", got)
			}
			return err
		}
		made, leave := make(chan error, 1), make(chan struct{})
		begun := make(chan struct{})
		go func() {
			_, err := cell.GetOrInit(context.Background(), func(context.Context) (int, error) {
				close(begun)
				<-leave
				return 1, nil
			})
			made <- err
		}()
		receive(t, "the initializer is called", begun)
		for _, err := range onAWorker(t, rt, func() error { return get(2) }) {
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.ErrorContains(t, err, "syncx.OnceCell.GetOrInit on worker ")
		}
		close(leave)
		require.NoError(t, receive(t, "the initializer returns", made))
		for _, err := range onAWorker(t, rt, func() error { return get(3) }) {
			require.NoError(t, err)
		}
	})
}
