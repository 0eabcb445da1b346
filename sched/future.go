package sched

import "errors"

// A Future is a computation that is polled to its end. Poll returns ErrPending
// after arranging for cx's waker to fire; any other result is final, and Poll
// is not called again. It must not block.
type Future[T any] interface {
	Poll(cx *Context) (T, error)
}

// FutureFunc makes a Future of a function.
type FutureFunc[T any] func(cx *Context) (T, error)

// Poll calls f.
func (f FutureFunc[T]) Poll(cx *Context) (T, error) { return f(cx) }

// ErrPending says that a future is not done. It is returned as it is, never
// wrapped, so comparing with == is right.
var ErrPending = errors.New("sched: pending")
