package sched

import "time"

// Deadline is TimeoutAt for a time of package time, as the deadlines of contexts and connections
// are: f must be done by t. The zero time is no deadline. The runtime that polls it first converts
// t into its own time (see Runtime.At), by the monotonic reading of t if it has one. With a
// virtual clock the result is the time since the runtime was made.
func Deadline[T any](t time.Time, f Future[T]) Future[T] {
	mustHaveFuture(f)
	if t.IsZero() {
		return f
	}
	return &deadline[T]{t: t, timeout: TimeoutFuture[T]{branch: branch[T]{f: f}}}
}

type deadline[T any] struct {
	t       time.Time // zero: it has been moved to timeout
	timeout TimeoutFuture[T]
}

func (d *deadline[T]) Poll(cx *Context) (T, error) {
	if !d.t.IsZero() {
		if cx.rt == nil {
			d.timeout.Reset(time.Until(d.t))
		} else {
			d.timeout.ResetAt(cx.rt.At(d.t))
		}
		d.t = time.Time{}
	}
	return d.timeout.Poll(cx)
}

func (d *deadline[T]) Cancel() { d.timeout.Cancel() }

func (d *deadline[T]) Undo() { d.timeout.Undo() }
