package syncx_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A yielder is pending once for each Await. Unlike sched.Yield it can be used again.
type yielder struct{ pending bool }

func (y *yielder) Poll(cx *sched.Context) (struct{}, error) {
	if y.pending = !y.pending; y.pending {
		cx.Wake(cx.Waker())
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// A turn takes a primitive, lets others run, and gives it back.
type turn struct {
	op
	back  func()
	yield yielder
}

func (t *turn) stackful(cx *sched.Context) error {
	if err := t.wait(cx); err != nil {
		return err
	}
	defer t.back()
	_, err := sched.Await(cx, sched.Future[struct{}](&t.yield))
	return err
}

func (t *turn) goroutine(ctx context.Context) error {
	if err := t.wait(ctx); err != nil {
		return err
	}
	defer t.back()
	runtime.Gosched()
	return nil
}

// turns are what two can take in turns.
var turns = map[string]func() *turn{
	"mutex": func() *turn {
		var mu syncx.Mutex
		return &turn{op: locking(&mu), back: mu.Unlock}
	},
	"writers": func() *turn {
		var rw syncx.RWMutex
		return &turn{op: writing(&rw), back: rw.Unlock}
	},
	"semaphore": func() *turn {
		s := syncx.NewSemaphore(3)
		return &turn{op: acquiring(s, 2), back: func() { s.Release(2) }}
	},
	"notify": func() *turn {
		var n syncx.Notify
		n.NotifyOne()
		return &turn{op: waiting(&n), back: n.NotifyOne}
	},
	"barrier": func() *turn {
		return &turn{op: arriving(syncx.NewBarrier(2), func() {}), back: nothing}
	},
}

// Two parties take turns, so that each waits for the other. The allocations of both are counted.
func TestWaitingAllocatesNothing(t *testing.T) {
	if slow {
		t.Skip("under the race detector a pool forgets")
	}
	const times = 1000
	for name, make := range turns {
		t.Run(name+"/stackful", func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1})
			one := make()
			other := *one
			forever := func(cx *sched.Context) (struct{}, error) {
				for {
					if err := other.stackful(cx); err != nil {
						return struct{}{}, err
					}
				}
			}
			partner := sched.Go(rt, forever)
			allocs, err := outcome(t, sched.Go(rt, func(cx *sched.Context) (float64, error) {
				return testing.AllocsPerRun(times, func() { require.NoError(t, one.stackful(cx)) }), nil
			}))
			require.NoError(t, err)
			require.Zero(t, allocs)
			partner.Abort()
			_, err = outcome(t, partner)
			require.ErrorIs(t, err, sched.ErrCanceled)
		})
		t.Run(name+"/goroutine", func(t *testing.T) {
			one := make()
			ctx, cancel := context.WithCancel(context.Background())
			ended := startForever(ctx, one)
			require.Zero(t, testing.AllocsPerRun(times, func() { require.NoError(t, one.goroutine(ctx)) }))
			cancel()
			require.Equal(t, context.Canceled, receive(t, "the partner ends", ended))
		})
	}
}

func startForever(ctx context.Context, t *turn) <-chan error {
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := t.goroutine(ctx); err != nil {
				ended <- err
				return
			}
		}
		ended <- ctx.Err()
	}()
	return ended
}

// A stackless task keeps its futures, and allocates nothing when it polls them again.
func TestAFutureThatIsPolledAgainAllocatesNothing(t *testing.T) {
	if slow {
		t.Skip("the race detector allocates")
	}
	var mu syncx.Mutex
	var rw syncx.RWMutex
	var n syncx.Notify
	s, b := syncx.NewSemaphore(1), syncx.NewBarrier(2)
	first := b.WaitFuture()
	var running *sched.Context
	for name, c := range map[string]struct {
		take, give func()
		poll       func(cx *sched.Context) error
	}{
		"mutex":     {func() { mu.TryLock() }, mu.Unlock, polling(mu.LockFuture())},
		"writer":    {func() { rw.TryLock() }, rw.Unlock, polling(rw.LockFuture())},
		"semaphore": {func() { s.TryAcquire(1) }, func() { s.Release(1) }, polling(s.AcquireFuture(1))},
		"notify":    {nothing, n.NotifyOne, polling(n.WaitFuture())},
		"barrier":   {nothing, func() { _, _ = first.Poll(running) }, polling(b.WaitFuture())},
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 1})
			run := sched.FutureFunc[float64](func(cx *sched.Context) (float64, error) {
				running = cx
				return testing.AllocsPerRun(1000, func() {
					c.take()
					require.Equal(t, sched.ErrPending, c.poll(cx))
					c.give()
					require.NoError(t, c.poll(cx))
					if name != "notify" && name != "barrier" {
						c.give()
					}
				}), nil
			})
			allocs, err := outcome(t, sched.Spawn(rt, sched.Unconstrained(sched.Future[float64](run))))
			require.NoError(t, err)
			require.Zero(t, allocs)
		})
	}
}

func polling[T any](f sched.Future[T]) func(cx *sched.Context) error {
	return func(cx *sched.Context) error { _, err := f.Poll(cx); return err }
}
