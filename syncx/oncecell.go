package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// A OnceCell is a value that is set once. The first caller makes it, and the others wait. If the
// first one fails, panics or is canceled, the next one makes the value with its own function, in
// the order of arrival. The zero value is an empty cell. All methods may be called from any
// goroutine.
//
// An initializer that waits for the value of its own cell waits forever.
type OnceCell[T any] struct {
	full  atomics.Uint32 // 1: value is there, and will not change
	armed atomics.Uint32 // 1: mu has its permit
	mu    Semaphore      // its one permit is that to make the value; closed when the value is there
	value T
}

// makers is mu, with its permit. Unlike a mutex it can be closed: that wakes all waiters at once,
// so that none of them waits for another.
func (c *OnceCell[T]) makers() *Semaphore {
	if c.armed.Load() == 0 {
		c.mu.queue.mu.Lock()
		defer c.mu.queue.mu.Unlock()
		if c.armed.Load() == 0 {
			c.mu.word.Store(semPermit)
			c.armed.Store(1)
		}
	}
	return &c.mu
}

// Get returns the value, if there is one. It costs a load.
func (c *OnceCell[T]) Get() (v T, ok bool) {
	if c.full.Load() == 0 {
		return v, false
	}
	return c.value, true
}

// Set sets the value, unless there is one or another caller is making it. It reports whether it
// has set the value.
func (c *OnceCell[T]) Set(v T) bool {
	if !c.makers().TryAcquire(1) {
		return false
	}
	c.fill(v)
	return true
}

func (c *OnceCell[T]) fill(v T) {
	c.value = v
	c.full.Store(1)
	c.mu.Close()
}

// GetOrInit returns the value. If there is none, it calls init with ctx to make it. If init fails,
// its error is returned, and the cell stays empty. While another caller makes the value, it waits
// as sched.Await does.
func (c *OnceCell[T]) GetOrInit(ctx context.Context, init func(ctx context.Context) (T, error)) (T, error) {
	if v, ok := c.Get(); ok && ctx != nil {
		return v, nil
	}
	err := c.makers().Acquire(ctx, 1)
	if v, ok := c.Get(); ok && ctx != nil { // err is ErrClosed, or the task was aborted
		return v, nil
	}
	if err != nil {
		var none T
		return none, err
	}
	defer c.passOn()
	return c.keep(init(ctx))
}

// passOn lets the next waiter make the value, unless there is one.
func (c *OnceCell[T]) passOn() {
	if c.full.Load() == 0 {
		c.mu.Release(1)
	}
}

// keep fills the cell if there is no error.
func (c *OnceCell[T]) keep(v T, err error) (T, error) {
	if err == nil {
		c.fill(v)
	}
	return v, err
}

// A onceFuture gets or makes the value of a OnceCell, see OnceCell.GetOrInitFuture.
type onceFuture[T any] struct {
	c      *OnceCell[T]
	init   sched.Future[T] // nil: done or abandoned
	turn   acquireFuture
	making bool // it has the permit
	err    error
}

var (
	_ sched.Future[int] = (*onceFuture[int])(nil)
	_ sched.Canceler    = (*onceFuture[int])(nil)
)

// GetOrInitFuture returns a future of the value. If there is none, init makes it. If init fails,
// its error is the result, and the future does not wait for the value of others. Polled again, it
// returns the same result. An init that is not needed is abandoned.
func (c *OnceCell[T]) GetOrInitFuture(init sched.Future[T]) sched.Future[T] {
	return &onceFuture[T]{c: c, init: init, turn: acquireFuture{s: c.makers(), n: 1}}
}

// Poll implements sched.Future.
func (o *onceFuture[T]) Poll(cx *sched.Context) (v T, err error) {
	if o.err != nil {
		return v, o.err
	}
	if !o.making {
		_, err := o.turn.Poll(cx)
		if v, ok := o.c.Get(); ok {
			o.Cancel()
			return v, nil
		} else if err != nil {
			return v, err
		}
		o.making = true
	}
	ended := true // also if init panics
	defer func() {
		if ended {
			o.init, o.making = nil, false
			o.c.passOn()
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

// Cancel abandons the initializer. The next waiter uses its own.
func (o *onceFuture[T]) Cancel() {
	init := o.init
	o.init = nil
	defer func() { // after the initializer has been abandoned, even if its Cancel panics
		o.turn.Cancel()
		if o.making {
			o.making = false
			o.c.passOn()
		}
	}()
	if c, ok := init.(sched.Canceler); ok {
		c.Cancel()
	}
}
