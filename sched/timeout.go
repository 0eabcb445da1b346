package sched

import (
	"context"
	"os"
	"time"
)

// ErrTimeout is the error of a Timeout that has expired. It matches
// os.ErrDeadlineExceeded, as an expired deadline of a connection does, and
// context.DeadlineExceeded, and is a net.Error whose Timeout method reports true.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string   { return "sched: timed out" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
func (timeoutError) Unwrap() []error {
	return []error{os.ErrDeadlineExceeded, context.DeadlineExceeded}
}

// Timeout is f with at most d to come to its end, counted from its first poll.
// Then f is abandoned, and the error is ErrTimeout. An f that is done by the time
// the deadline is looked at wins: a result that is there is not lost, and with d of
// 0 or less, f is polled once. The deadline needs no budget, so that an f which is
// always out of it expires all the same. An f that is done at its first poll has
// cost no timer.
func Timeout[T any](d time.Duration, f Future[T]) *TimeoutFuture[T] {
	return &TimeoutFuture[T]{f: f, sleep: SleepFuture{at: d, relative: true}}
}

// TimeoutAt is Timeout with a deadline in the runtime's time (see Runtime.Now and
// Runtime.At).
func TimeoutAt[T any](at time.Duration, f Future[T]) *TimeoutFuture[T] {
	return &TimeoutFuture[T]{f: f, sleep: SleepFuture{at: at}}
}

// A TimeoutFuture is a future with a deadline, which can be moved while it waits. Its
// methods must not be called at once.
type TimeoutFuture[T any] struct {
	f     Future[T] // nil: done or abandoned
	sleep SleepFuture
}

// Poll is f's result, or ErrTimeout.
func (t *TimeoutFuture[T]) Poll(cx *Context) (T, error) {
	v, err := t.f.Poll(cx)
	if err != ErrPending {
		t.f = nil
		t.sleep.Cancel()
		return v, err
	}
	if _, err := t.sleep.Poll(cx); err == ErrPending {
		return v, ErrPending
	}
	t.Cancel()
	return *new(T), ErrTimeout
}

// Reset gives f another d from now on, or if it has not been polled yet, from its
// first poll: for what may go on as long as there is progress.
func (t *TimeoutFuture[T]) Reset(d time.Duration) { t.sleep.Reset(d) }

// ResetAt moves the deadline to a point in the runtime's time.
func (t *TimeoutFuture[T]) ResetAt(at time.Duration) { t.sleep.ResetAt(at) }

// Deadline is SleepFuture.Deadline.
func (t *TimeoutFuture[T]) Deadline() (at time.Duration, ok bool) { return t.sleep.Deadline() }

// Cancel abandons f and stops the timer.
func (t *TimeoutFuture[T]) Cancel() {
	t.sleep.Cancel()
	if f := t.f; f != nil {
		t.f = nil
		abandon(f)
	}
}
