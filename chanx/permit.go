package chanx

import "github.com/suiro-go/suiro/sched"

// A Permit is room for one value, which nobody else can take. Whoever has it calls
// either Send or Release, once; doing so twice panics. While it is out, receivers of a
// channel that has closed wait for its value. It must not be copied. The zero value is
// one that was used.
type Permit[T any] struct{ ch *bounded[T] }

// permit is the result of a try to reserve.
func (c *bounded[T]) permit(is outcome) (Permit[T], error) {
	if is == done {
		return Permit[T]{c}, nil
	}
	return Permit[T]{}, is.err()
}

// Send sends v. It never waits: there is room. The error is ErrClosed if the last
// receiver is gone, and v has not been sent; that all senders have been closed is no
// reason. cx is that of the running task, or nil outside of tasks.
func (p *Permit[T]) Send(cx *sched.Context, v T) error { return p.use().sendReserved(cx, v) }

// Release gives the room back, to the next that waits for it.
func (p *Permit[T]) Release() { p.use().unreserve(nil) }

func (p *Permit[T]) use() *bounded[T] {
	c := p.ch
	if c == nil {
		panic("chanx: a Permit that was used already, or is none")
	}
	p.ch = nil
	return c
}
