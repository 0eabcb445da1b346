package sched

import "time"

// Deadline is TimeoutAt for a time of package time, as a context's Deadline and a
// connection's are: f has until t to come to its end. The zero time is no deadline.
// It is turned into the time of the runtime that polls it first (see Runtime.At), by
// its monotonic reading if it has one. With a virtual clock that is the time since
// the runtime was made.
func Deadline[T any](t time.Time, f Future[T]) Future[T] {
	if t.IsZero() {
		return f
	}
	return &deadline[T]{t: t, timeout: TimeoutFuture[T]{f: f}}
}

type deadline[T any] struct {
	t       time.Time // zero: it is in timeout
	timeout TimeoutFuture[T]
}

func (d *deadline[T]) Poll(cx *Context) (T, error) {
	if !d.t.IsZero() {
		d.timeout.ResetAt(cx.rt.At(d.t))
		d.t = time.Time{}
	}
	return d.timeout.Poll(cx)
}

func (d *deadline[T]) Cancel() { d.timeout.Cancel() }
