package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// A OnceCell is a value that is set once. Whoever needs it first makes it; the others
// wait for that one, and when he fails, panics or gives up, the next of them makes it with
// his own function, first come first. The zero value is an empty cell. All methods may be
// called from any goroutine.
//
// A function that asks for its own cell's value waits for itself.
type OnceCell[T any] struct {
	full  atomics.Uint32 // 1: value is there, and will not change
	mu    Mutex          // is held by who makes it
	value T
}

// Get is the value, if there is one. It costs a load.
func (c *OnceCell[T]) Get() (v T, ok bool) {
	if c.full.Load() == 0 {
		return v, false
	}
	return c.value, true
}

// Set sets the value, unless there is one or somebody is making it, and reports whether it
// has.
func (c *OnceCell[T]) Set(v T) bool {
	if !c.mu.TryLock() {
		return false
	}
	defer c.mu.Unlock()
	if c.full.Load() != 0 {
		return false
	}
	c.fill(v)
	return true
}

func (c *OnceCell[T]) fill(v T) {
	c.value = v
	c.full.Store(1)
}

// GetOrInit is the value for the stackful task that calls it: that of init if there is
// none. Its error is init's, which leaves the cell empty, or sched.ErrCancelled when the
// task is aborted while it waits.
func (c *OnceCell[T]) GetOrInit(cx *sched.Context, init func(cx *sched.Context) (T, error)) (T, error) {
	if v, ok := c.Get(); ok {
		return v, nil
	}
	if err := c.mu.Lock(cx); err != nil {
		return *new(T), err
	}
	defer c.mu.UnlockFrom(cx)
	if v, ok := c.Get(); ok {
		return v, nil
	}
	return c.keep(init(cx))
}

// GetOrInitContext is GetOrInit for a goroutine, which must not be a worker's. Its error
// is init's, or that of ctx, which is also given to init.
func (c *OnceCell[T]) GetOrInitContext(ctx context.Context, init func(ctx context.Context) (T, error)) (T, error) {
	if v, ok := c.Get(); ok {
		return v, nil
	}
	if err := c.mu.LockContext(ctx); err != nil {
		return *new(T), err
	}
	defer c.mu.Unlock()
	if v, ok := c.Get(); ok {
		return v, nil
	}
	return c.keep(init(ctx))
}

// keep fills the cell if there is no error.
func (c *OnceCell[T]) keep(v T, err error) (T, error) {
	if err == nil {
		c.fill(v)
	}
	return v, err
}

// A OnceFuture is done with the value of a OnceCell, or with the error of its own
// initialiser. It may then be polled again, with the same result; one whose initialiser
// failed asks for no other's value.
type OnceFuture[T any] struct {
	c      *OnceCell[T]
	init   sched.Future[T] // nil: done or abandoned
	lock   LockFuture
	making bool // it has the lock
	err    error
}

var (
	_ sched.Future[int] = (*OnceFuture[int])(nil)
	_ sched.Canceler    = (*OnceFuture[int])(nil)
)

// GetOrInitFuture is a future of the value: that of init if there is none. An init that is
// not needed is abandoned.
func (c *OnceCell[T]) GetOrInitFuture(init sched.Future[T]) *OnceFuture[T] {
	return &OnceFuture[T]{c: c, init: init, lock: LockFuture{m: &c.mu}}
}

// Poll makes it a future.
func (o *OnceFuture[T]) Poll(cx *sched.Context) (v T, err error) {
	if o.err != nil {
		return v, o.err
	}
	if !o.making {
		if v, ok := o.c.Get(); ok {
			o.Cancel()
			return v, nil
		}
		if _, err := o.lock.Poll(cx); err != nil {
			return v, err
		}
		if v, ok := o.c.Get(); ok {
			o.c.mu.UnlockFrom(cx)
			o.Cancel()
			return v, nil
		}
		o.making = true
	}
	ended := true // or it panics
	defer func() {
		if ended {
			o.init, o.making = nil, false
			o.c.mu.UnlockFrom(cx)
		}
	}()
	v, err = o.init.Poll(cx)
	if err == sched.ErrPending {
		ended = false
		return v, err
	}
	o.err = err
	return o.c.keep(v, err)
}

// Cancel abandons the initialiser; the next that waits uses its own.
func (o *OnceFuture[T]) Cancel() {
	init := o.init
	o.init = nil
	defer func() { // after the initialiser is gone, even if its Cancel panics
		o.lock.Cancel()
		if o.making {
			o.making = false
			o.c.mu.Unlock()
		}
	}()
	if c, ok := init.(sched.Canceler); ok {
		c.Cancel()
	}
}
