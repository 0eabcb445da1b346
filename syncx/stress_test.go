package syncx_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// timedOut is an op whose tasks wait for a short time at most.
func timedOut(o op, d time.Duration) op {
	return op{
		future: func() sched.Future[struct{}] { return sched.Timeout(d, o.future()) },
		wait: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return o.wait(ctx)
		},
	}
}

// Waits are aborted, time out and are done, concurrently and in all forms. All acquired permits are
// released, and at the end the primitive is in its initial state.
func TestNothingIsLostWhenWaitsAreCanceled(t *testing.T) {
	const all = 5
	var mu syncx.Mutex
	var rw syncx.RWMutex
	s := syncx.NewSemaphore(all)
	for name, c := range map[string]struct {
		op     func(n int) (o op, back func())
		atRest func() bool
	}{
		"mutex": {
			func(int) (op, func()) { return locking(&mu), mu.Unlock },
			mu.AtRest,
		},
		"semaphore": {
			func(n int) (op, func()) {
				return acquiring(s, n), func() { s.Release(n) }
			},
			func() bool { return s.AtRest(all) },
		},
		"rwmutex": {
			func(n int) (op, func()) {
				if n == 1 {
					return writing(&rw), rw.Unlock
				}
				return reading(&rw), rw.RUnlock
			},
			rw.AtRest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				random := rand.New(rand.NewPCG(1, uint64(rt.Workers())))
				var done, gaveUp atomic.Int32
				for range rounds(100) {
					var waits []*wait
					for i := range 60 {
						o, back := c.op(1 + random.IntN(all))
						switch random.IntN(4) {
						case 0:
							o = timedOut(o, time.Duration(random.IntN(200))*time.Microsecond)
						case 1:
							o = lingering(o)
						}
						waits = append(waits, o.begin(rt, forms[i%len(forms)], back))
						if random.IntN(3) == 0 {
							waits[random.IntN(len(waits))].giveUp()
						}
					}
					for _, w := range waits {
						switch err := w.result(t); {
						case err == nil:
							done.Add(1)
						case errors.Is(err, context.Canceled), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
							gaveUp.Add(1)
						default:
							require.NoError(t, err)
						}
					}
					require.True(t, c.atRest())
				}
				require.NotZero(t, done.Load())
				require.NotZero(t, gaveUp.Load())
			})
		})
	}
}

// lingering is an op that is held while others run, so that they have to wait.
func lingering(o op) op {
	return op{
		future: func() sched.Future[struct{}] { return &linger{f: o.future()} },
		wait: func(ctx context.Context) error {
			if err := o.wait(ctx); err != nil {
				return err
			}
			cx := sched.FromContext(ctx)
			if cx == nil {
				runtime.Gosched()
				return nil
			}
			cx.Shield() // otherwise it would be aborted while it holds
			defer cx.Unshield()
			_, err := sched.Await(context.WithoutCancel(ctx), sched.Yield())
			return err
		},
	}
}

// A linger is done one poll after its future.
type linger struct {
	f    sched.Future[struct{}]
	held bool
}

func (l *linger) Poll(cx *sched.Context) (struct{}, error) {
	if l.held {
		cx.Unshield()
		return struct{}{}, nil
	}
	if _, err := l.f.Poll(cx); err != nil {
		return struct{}{}, err
	}
	l.held = true
	cx.Shield()
	cx.Waker().Wake()
	return struct{}{}, sched.ErrPending
}

func (l *linger) Cancel() { abandon(l.f) }
