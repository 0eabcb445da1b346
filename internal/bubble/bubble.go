package bubble

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/internal/background"
)

// In reports whether the goroutine may be in a bubble, where the clock starts at the year 2000:
// that is long before this process has started. It costs a clock read.
func In() bool { return Of(time.Now()) }

// Of reports whether t was read from a bubble's clock, as far as one can tell.
func Of(t time.Time) bool {
	s := t.Unix()
	return s >= begin && s < started
}

var (
	begin   = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix() // where bubbles' clocks start
	started = time.Now().Unix()
)

// Go runs f on a goroutine that belongs to no bubble, and has no labels (see background.Go).
func Go(f func()) { Outside(func() { background.Go(f) }) }

// Chan makes a channel that belongs to no bubble, so everybody may use it.
func Chan[T any](size int) chan T {
	if !In() {
		return make(chan T, size)
	}
	return chanOutside[T](size)
}

func chanOutside[T any](size int) (c chan T) {
	Outside(func() { c = make(chan T, size) })
	return c
}

// After is time.After in real time.
func After(d time.Duration) (c <-chan time.Time) {
	Outside(func() { c = time.After(d) })
	return c
}

// Tick returns a channel on which something arrives every d of real time, until stop is called.
func Tick(d time.Duration) (c <-chan time.Time, stop func()) {
	var t *time.Ticker
	Outside(func() { t = time.NewTicker(d) })
	return t.C, t.Stop
}

// Real is when the bubble's t is by real time, if time passes equally from now on; outside it is
// t itself. Its result is for code that runs outside.
func Real(t time.Time) time.Time {
	if t.IsZero() || !In() {
		return t
	}
	return fromNow(time.Until(t))
}

func fromNow(d time.Duration) (t time.Time) {
	Outside(func() { t = time.Now().Add(d) })
	return t
}

// Context is ctx for code that runs outside: it has ctx's values, ends when ctx does, and has
// ctx's deadline in real time. The caller calls release when it needs it no longer. Outside
// bubbles it is ctx itself.
func Context(ctx context.Context) (outside context.Context, release func()) {
	if !In() {
		return ctx, func() {}
	}
	return contextOutside(ctx)
}

func contextOutside(ctx context.Context) (outside context.Context, release func()) {
	deadline, limited := ctx.Deadline()
	left := time.Until(deadline)
	values := context.WithoutCancel(ctx)
	var end context.CancelCauseFunc
	free := func() {}
	Outside(func() {
		outside, end = context.WithCancelCause(values)
		if limited {
			outside, free = context.WithTimeout(outside, left)
		}
		outside.Done() // made here: it is made by the first who asks
	})
	if ctx.Err() != nil { // before it returns, as a context's child ends at once
		end(context.Cause(ctx))
	}
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	return mirror{outside, ctx}, func() { stop(); free(); end(context.Canceled) }
}

// A mirror is a context that ends with another one, and by its error.
type mirror struct {
	context.Context
	of context.Context
}

func (m mirror) Err() error {
	err := m.Context.Err()
	if err != nil && m.of.Err() != nil {
		return m.of.Err()
	}
	return err
}
