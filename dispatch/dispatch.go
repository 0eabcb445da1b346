package dispatch

import (
	"context"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// A Dispatcher is a place where functions run. It may be used by any number of tasks at once. The
// zero value is Unconfined.
type Dispatcher struct {
	rt    *sched.Runtime
	owned bool // Close closes rt
	pool  *blocking.Pool
}

// Unconfined runs a function in its caller's task: in place until it first waits, and from then on
// wherever the caller's runtime resumes it.
var Unconfined = Dispatcher{}

// Default runs functions as tasks of a runtime: that of a server, for example.
func Default(rt *sched.Runtime) Dispatcher { return Dispatcher{rt: rt} }

// IO runs functions on goroutines of a pool, where they may block. The context of such a function
// ends when the caller's does, or when the caller is aborted. A wait with it blocks the goroutine.
func IO(pool *blocking.Pool) Dispatcher { return Dispatcher{pool: pool} }

// Custom runs functions as tasks of a runtime of its own with n workers. Close closes it.
func Custom(n int) Dispatcher {
	return Dispatcher{rt: sched.New(sched.Config{Workers: max(1, n)}), owned: true}
}

// Single is Custom(1): functions never run at the same time. They take turns where they wait.
func Single() Dispatcher { return Custom(1) }

// Close ends a Custom or Single dispatcher. Functions that have not returned end with
// sched.ErrClosed; their Await returns sched.ErrCanceled. It waits for the workers. For other
// dispatchers it does nothing. A function of this dispatcher must not call it.
func (d Dispatcher) Close() error {
	if !d.owned {
		return nil
	}
	return d.rt.Close()
}

// On runs fn on a dispatcher, waits until fn has returned (see sched.Await), and returns fn's
// result. (Kotlin's withContext.) A stackful task that calls it is suspended, and goes on on its
// own runtime. fn must use its own ctx. On a dispatcher whose runtime is the caller's, fn is called
// in place. A panic of fn elsewhere is the error, a *sched.PanicError.
//
// If ctx ends or the caller is aborted, On returns at once with that error, and fn is aborted. On a
// pool, fn is not called, or it goes on and its result is dropped.
func On[T any](ctx context.Context, d Dispatcher, fn func(ctx context.Context) (T, error)) (T, error) {
	switch cx := sched.FromContext(ctx); {
	case d.pool != nil:
		outside := sched.WithoutTask(ctx)
		return blocking.Do(ctx, d.pool, func() (T, error) {
			v, err := fn(outside)
			if err == sched.ErrPending {
				err = sched.ErrPendingResult
			}
			return v, err
		})
	case d.rt == nil || cx != nil && d.rt == cx.Runtime():
		return fn(ctx)
	}
	if err := ctxcheck.Refused(ctx); err != nil {
		return *new(T), err
	}
	return sched.Block[T](ctx, d.rt, &elsewhere[T]{rt: d.rt, fn: fn})
}

// elsewhere is a task of another runtime, which its first poll starts, and which is aborted when
// nobody waits for it any more.
type elsewhere[T any] struct {
	rt   *sched.Runtime
	fn   func(ctx context.Context) (T, error)
	task *sched.JoinHandle[T] // nil before the first poll
}

func (e *elsewhere[T]) Poll(cx *sched.Context) (T, error) {
	if e.task == nil {
		e.task = sched.Go(e.rt, func(cx *sched.Context) (T, error) { return e.fn(cx) })
	}
	return e.task.Poll(cx)
}

func (e *elsewhere[T]) Cancel() {
	if e.task != nil {
		e.task.Abort()
		e.task.Detach()
	}
}
