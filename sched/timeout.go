package sched

import (
	"context"
	"os"
	"time"
)

// ErrTimeout is the error of a Timeout that has expired. It matches os.ErrDeadlineExceeded, as an
// expired deadline of a connection does, and context.DeadlineExceeded. It is a net.Error whose
// Timeout method reports true.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string   { return "sched: timed out" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
func (timeoutError) Unwrap() []error {
	return []error{os.ErrDeadlineExceeded, context.DeadlineExceeded}
}

// Timeout is f with a time limit of d, counted from its first poll. When d has passed, f is
// abandoned, and the error is ErrTimeout. If f is done when the deadline is checked, its result is
// returned: no available result is lost. With d of 0 or less, f is polled once. The deadline needs
// no budget, so an f that always uses up the budget still times out. If f is done at its first
// poll, no timer is needed.
func Timeout[T any](d time.Duration, f Future[T]) *TimeoutFuture[T] {
	mustHaveFuture(f)
	return &TimeoutFuture[T]{branch: branch[T]{f: f}, sleep: SleepFuture{at: d, relative: true}}
}

// TimeoutAt is Timeout with a deadline in the runtime's time (see Runtime.Now and Runtime.At).
func TimeoutAt[T any](at time.Duration, f Future[T]) *TimeoutFuture[T] {
	mustHaveFuture(f)
	return &TimeoutFuture[T]{branch: branch[T]{f: f}, sleep: SleepFuture{at: at}}
}

// A TimeoutFuture is a future with a deadline, which can be moved while it waits. Its methods must
// not be called concurrently.
type TimeoutFuture[T any] struct {
	branch branch[T]
	sleep  SleepFuture
}

// Poll returns f's result, or ErrTimeout.
func (t *TimeoutFuture[T]) Poll(cx *Context) (T, error) {
	v, err := t.branch.poll(cx)
	if err != ErrPending {
		t.sleep.Cancel()
		return v, err
	}
	if _, err := t.sleep.Poll(cx); err == ErrPending {
		return v, ErrPending
	}
	t.Cancel()
	return *new(T), ErrTimeout
}

// Reset sets the deadline to d from now on. If f has not been polled yet, d counts from its first
// poll. Use it for work that may go on as long as there is progress.
func (t *TimeoutFuture[T]) Reset(d time.Duration) { t.sleep.Reset(d) }

// ResetAt moves the deadline to a point in the runtime's time.
func (t *TimeoutFuture[T]) ResetAt(at time.Duration) { t.sleep.ResetAt(at) }

// Deadline is the deadline in the runtime's time: see SleepFuture.Deadline.
func (t *TimeoutFuture[T]) Deadline() (at time.Duration, ok bool) { return t.sleep.Deadline() }

// Cancel abandons f and stops the timer.
func (t *TimeoutFuture[T]) Cancel() {
	t.sleep.Cancel()
	t.branch.cancel()
}

// Undo undoes f's result: see Undoer.
func (t *TimeoutFuture[T]) Undo() { t.branch.Undo() }
