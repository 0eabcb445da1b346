package sched

import (
	"context"
	"errors"
	"fmt"
)

// A Future is a computation that is polled to its end. Poll returns ErrPending
// after arranging for cx's waker to fire; any other result is final, and Poll
// is not called again. It must not block.
//
// A future whose Poll did not come to its end is abandoned when its task is
// aborted or it has lost a race. One that then has something to give back, a
// place in a queue or a timer, implements [Canceler].
type Future[T any] interface {
	Poll(cx *Context) (T, error)
}

// A Canceler is told that it will not be polled any more. Cancel comes at most
// once, possibly before the first Poll, and never at the same time as Poll. It
// must not block. If it panics, or calls runtime.Goexit, that is its task's error.
type Canceler interface{ Cancel() }

// final is the error of a function as a result.
func final(err error) error {
	if err == ErrPending {
		return ErrPendingResult
	}
	return err
}

// abandon tells a future that it will not be polled any more.
func abandon(f any) {
	if c, ok := f.(Canceler); ok {
		c.Cancel()
	}
}

// FutureFunc makes a Future of a function.
type FutureFunc[T any] func(cx *Context) (T, error)

// Poll calls f.
func (f FutureFunc[T]) Poll(cx *Context) (T, error) { return f(cx) }

var (
	// ErrPending says that a future is not done. It is returned as it is, never
	// wrapped, so comparing with == is right.
	ErrPending = errors.New("sched: pending")

	// ErrClosed is what is returned for work given to a runtime that has
	// closed, and for what it had not done by then.
	ErrClosed = errors.New("sched: runtime closed")

	// ErrCancelled is the result of a task that was aborted, and what Await
	// returns in one. It matches context.Canceled.
	ErrCancelled = fmt.Errorf("sched: task cancelled: %w", context.Canceled)

	// ErrGoexit is the result of a task that called runtime.Goexit, as FailNow of a
	// test does. That leaves about a kilobyte on its worker's stack for good, so
	// it is not a way to end tasks by the hundred thousand.
	ErrGoexit = errors.New("sched: task called runtime.Goexit")

	// ErrPendingResult is the result of a function that returned ErrPending, which only
	// the Poll of a future may: that has arranged for a wake.
	ErrPendingResult = errors.New("sched: a function returned ErrPending as its result; return another error, or await what is pending")

	// ErrDetached is what a handle returns after Detach.
	ErrDetached = errors.New("sched: task was detached")
)

// A PanicError is the error of a task that panicked.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // as debug.Stack formats it
}

// Error is the value, and where it was raised is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("sched: task panicked: %v", e.Value) }

// Unwrap is the value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
