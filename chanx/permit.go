package chanx

import (
	"context"
)

// A Permit is room for one value, which no other sender can take. Its holder calls Send or
// Release, once; a second call panics. Until then, receivers of a closed channel wait for its
// value. It must not be copied. The zero value is a used permit.
type Permit[T any] struct{ ch *bounded[T] }

// permit is the result of an attempt to reserve.
func (c *bounded[T]) permit(is outcome) (Permit[T], error) {
	if is == done {
		return Permit[T]{c}, nil
	}
	return Permit[T]{}, is.err()
}

// Send sends v. It never waits, because there is room. If the last receiver is closed, the error is
// ErrClosed, and v has not been sent. It succeeds even if all senders are closed.
func (p *Permit[T]) Send(ctx context.Context, v T) error { return p.use().sendReserved(ctx, v) }

// Release gives back the room, to the next waiting sender.
func (p *Permit[T]) Release() { p.use().unreserve(nil) }

func (p *Permit[T]) use() *bounded[T] {
	c := p.ch
	if c == nil {
		panic("chanx: a Permit that was used already, or is none")
	}
	p.ch = nil
	return c
}
