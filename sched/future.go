package sched

import (
	"context"
	"errors"
	"fmt"
)

// A Future is a computation that is polled until it is done. Poll returns ErrPending after it has
// arranged for cx's waker to fire. Any other result is final, and Poll is not called again. It
// must not block.
//
// A future that is not done is abandoned when its task is aborted, or when another future of a
// Select wins. A future that must then give something back, such as a place in a queue or a timer,
// implements [Canceler].
type Future[T any] interface {
	Poll(cx *Context) (T, error)
}

// A Canceler is notified that it will not be polled again. Cancel is called at most once, possibly
// before the first Poll, and never concurrently with Poll. It must not block. If it panics or
// calls runtime.Goexit, that becomes its task's error.
type Canceler interface{ Cancel() }

// final is the error of a function as the result of its task.
func final(err error) error {
	if err == ErrPending {
		return ErrPendingResult
	}
	return err
}

// mustHaveFuture panics for a nil future, in the call that passes it: in the task that polls it,
// the place of the mistake would be unknown.
func mustHaveFuture[T any](f Future[T]) {
	if f == nil {
		panic("sched: nil Future")
	}
}

// mustHaveFunction is mustHaveFuture for a function.
func mustHaveFunction(isNil bool) {
	if isNil {
		panic("sched: nil function")
	}
}

// abandon calls Cancel if the future is a Canceler.
func abandon(f any) {
	if c, ok := f.(Canceler); ok {
		c.Cancel()
	}
}

// FutureFunc makes a Future from a function.
type FutureFunc[T any] func(cx *Context) (T, error)

// Poll calls f.
func (f FutureFunc[T]) Poll(cx *Context) (T, error) { return f(cx) }

// WithCancel is f as a Canceler: cancel is called if the future is abandoned before it is done. See
// Canceler.
func (f FutureFunc[T]) WithCancel(cancel func()) Future[T] {
	mustHaveFunction(f == nil || cancel == nil)
	return &cancelingFunc[T]{f, cancel}
}

type cancelingFunc[T any] struct {
	FutureFunc[T]
	cancel func()
}

// Cancel implements Canceler.
func (f *cancelingFunc[T]) Cancel() { f.cancel() }

var (
	// ErrPending says that a future is not done. It is never wrapped, so a comparison with == is
	// correct.
	ErrPending = errors.New("sched: pending")

	// ErrClosed is the error of work that was given to a closed runtime, or that was not done when
	// the runtime closed.
	ErrClosed = errors.New("sched: runtime closed")

	// ErrCanceled is the result of a task that was aborted. Await returns it in such a task. It
	// matches context.Canceled.
	ErrCanceled = fmt.Errorf("sched: task canceled: %w", context.Canceled)

	// ErrGoexit is the result of a task that called runtime.Goexit, as FailNow of a test does.
	// Each such call leaves about a kilobyte on its worker's stack for good, so it is not a way to
	// end hundreds of thousands of tasks.
	ErrGoexit = errors.New("sched: task called runtime.Goexit")

	// ErrPendingResult is the result of a function that returned ErrPending. Only the Poll of a
	// future may return that, because it has arranged for a wake-up.
	ErrPendingResult = errors.New("sched: a function returned ErrPending as its result; return another error, or await the future")

	// ErrDetached is the error of a handle's methods after Detach.
	ErrDetached = errors.New("sched: task was detached")
)

// A PanicError is the error of a task that panicked.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // as debug.Stack formats it; nil: it was panic(nil), with GODEBUG=panicnil=1
}

// Error is the text of the value. The place of the panic is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("sched: task panicked: %v", e.Value) }

// Unwrap returns the value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
