package syncx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A form is a kind of waiter: a task or a goroutine, and how it waits.
type form int

const (
	stackless form = iota
	stackful
	derived // a stackful task that waits with a context derived from its own
	goroutine
)

var forms = []form{stackless, stackful, derived, goroutine}

func (f form) String() string {
	return [...]string{"stackless", "stackful", "derived", "goroutine"}[f]
}

// An op is an operation that waits, in each form.
type op struct {
	future func() sched.Future[struct{}]
	wait   func(ctx context.Context) error
}

func locking(mu *syncx.Mutex) op {
	return op{mu.LockFuture, mu.Lock}
}

func writing(rw *syncx.RWMutex) op {
	return op{rw.LockFuture, rw.Lock}
}

func reading(rw *syncx.RWMutex) op {
	return op{rw.RLockFuture, rw.RLock}
}

func acquiring(s *syncx.Semaphore, n int) op {
	return op{
		func() sched.Future[struct{}] { return s.AcquireFuture(n) },
		func(ctx context.Context) error { return s.Acquire(ctx, n) },
	}
}

func waiting(n *syncx.Notify) op {
	return op{n.WaitFuture, n.Wait}
}

// arriving calls led if it was the leader.
func arriving(b *syncx.Barrier, led func()) op {
	tell := func(leader bool, err error) error {
		if leader {
			led()
		}
		return err
	}
	return op{
		func() sched.Future[struct{}] { return &mapped[bool]{b.WaitFuture(), tell} },
		func(ctx context.Context) error { return tell(b.Wait(ctx)) },
	}
}

// A mapped is a future whose result goes to a function.
type mapped[T any] struct {
	f    sched.Future[T]
	then func(v T, err error) error
}

func (m *mapped[T]) Poll(cx *sched.Context) (struct{}, error) {
	v, err := m.f.Poll(cx)
	if err != sched.ErrPending {
		err = m.then(v, err)
	}
	return struct{}{}, err
}

func (m *mapped[T]) Cancel() { abandon(m.f) }

// A wait is a wait that has begun.
type wait struct {
	handle *sched.JoinHandle[struct{}] // nil: a goroutine's
	cancel context.CancelFunc
	ended  chan error
}

// begin starts a waiter, which then calls then.
func (o op) begin(rt *sched.Runtime, f form, then func()) *wait {
	w := new(wait)
	switch f {
	case stackless:
		future := o.future()
		w.handle = sched.Spawn(rt, sched.Future[struct{}](&followed{future, then}))
	case stackful, derived:
		w.handle = sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			ctx := context.Context(cx)
			if f == derived {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(cx)
				defer cancel()
			}
			err := o.wait(ctx)
			if err == nil {
				then()
			}
			return struct{}{}, err
		})
	case goroutine:
		ctx, cancel := context.WithCancel(context.Background())
		w.cancel, w.ended = cancel, make(chan error, 1)
		go func() {
			err := o.wait(ctx)
			if err == nil {
				then()
			}
			w.ended <- err
		}()
	}
	return w
}

// A followed future calls a function when it is done.
type followed struct {
	f    sched.Future[struct{}]
	then func()
}

func (f *followed) Poll(cx *sched.Context) (struct{}, error) {
	_, err := f.f.Poll(cx)
	if err == nil {
		f.then()
	}
	return struct{}{}, err
}

func (f *followed) Cancel() { abandon(f.f) }

// giveUp ends the wait, unless it has ended.
func (w *wait) giveUp() {
	if w.handle != nil {
		w.handle.Abort()
	} else {
		w.cancel()
	}
}

// result is the result of the wait.
func (w *wait) result(t testing.TB) error {
	t.Helper()
	if w.handle != nil {
		_, err := outcome(t, w.handle)
		return err
	}
	defer w.cancel()
	return receive(t, "a goroutine has waited", w.ended)
}

// inEachForm runs a test with 1, 2 and 4 workers and each form of waiting.
func inEachForm(t *testing.T, test func(t *testing.T, rt *sched.Runtime, f form)) {
	for _, f := range forms {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) { test(t, rt, f) })
		})
	}
}

func nothing() {}
