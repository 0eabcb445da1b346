package chanx

import (
	"context"
	"errors"
	"fmt"

	"github.com/suiro-go/suiro/sched"
)

// ErrCapacity is the error of a reservation of more places than the channel has.
var ErrCapacity = errors.New("chanx: more permits than the channel's capacity")

// Permits are room for some values, which no other sender can take. They belong to one task or
// goroutine at a time, and must not be copied. Unused ones must be released: until then, receivers
// of a closed channel wait for them. The zero value has no permits.
type Permits[T any] struct {
	ch *bounded[T]
	n  int
}

// Len is the number of permits that are left.
func (p *Permits[T]) Len() int { return p.n }

// Send sends v with one of the permits. It never waits. If the last receiver is closed, the error
// is ErrClosed, and v has not been sent; the permit is used up anyway. Send panics if no permit is
// left.
func (p *Permits[T]) Send(ctx context.Context, v T) error {
	one, ok := p.Next()
	if !ok {
		panic("chanx: Send of Permits that are used up")
	}
	return one.Send(ctx, v)
}

// Next takes out one of the permits. false: none is left.
func (p *Permits[T]) Next() (Permit[T], bool) {
	if p.n == 0 {
		return Permit[T]{}, false
	}
	p.n--
	return Permit[T]{p.ch}, true
}

// Release gives back the remaining permits, to waiting senders. It may always be called, by defer
// for example.
func (p *Permits[T]) Release() {
	n := p.n
	p.n = 0
	if n > 0 {
		p.ch.unreserve(nil, n)
	}
}

// ReserveMany waits for room for n values, and reserves it. It waits in line with other senders,
// and nobody overtakes it. It keeps the places it has got so far until it has all of them. The
// errors are those of Send, and ErrCapacity if n is more than Cap. It panics if n is negative. With
// an error no room stays reserved. It allocates nothing.
func (s *Sender[T]) ReserveMany(ctx context.Context, n int) (Permits[T], error) {
	if sched.FromContext(ctx).Proceed() {
		if p, err := s.TryReserveMany(n); err != ErrFull {
			return p, err
		}
	}
	f := s.getReserveMany(n)
	p, err := sched.Await(ctx, f)
	s.ch.reservesMany.Put(f)
	return p, err
}

// TryReserveMany is ReserveMany without waiting. The error is ErrFull, ErrClosed or ErrCapacity.
// It reserves all or none.
func (s *Sender[T]) TryReserveMany(n int) (Permits[T], error) {
	switch {
	case n < 0:
		panic(fmt.Sprintf("chanx: %d permits", n))
	case s.IsClosed():
		return Permits[T]{}, ErrClosed
	case n > s.Cap():
		return Permits[T]{}, ErrCapacity
	case n == 0:
		return Permits[T]{}, nil
	case s.ch.senders.some():
		return Permits[T]{}, ErrFull
	}
	return s.ch.permits(n, s.ch.ring.reserveAll(n))
}

func (c *bounded[T]) permits(n int, is outcome) (Permits[T], error) {
	if is == done {
		return Permits[T]{c, n}, nil
	}
	return Permits[T]{}, is.err()
}

// ReserveManyFuture is ReserveMany as a future. It can be used again to reserve the same number. An
// abandoned future reserves no room, and loses its place in line.
func (s *Sender[T]) ReserveManyFuture(n int) sched.Future[Permits[T]] {
	f := &reserveManyFuture[T]{s: s, n: n}
	f.ch = s.ch
	return f
}

func (s *Sender[T]) getReserveMany(n int) *reserveManyFuture[T] {
	f := take[reserveManyFuture[T]](&s.ch.reservesMany)
	f.s, f.n, f.ch = s, n, s.ch
	return f
}

// A reserveManyFuture reserves room for some values, see Sender.ReserveMany.
type reserveManyFuture[T any] struct {
	sendWait[T]
	s *Sender[T]
	n int
}

var (
	_ sched.Future[Permits[int]] = (*reserveManyFuture[int])(nil)
	_ sched.Canceler             = (*reserveManyFuture[int])(nil)
)

// Poll reserves room if there is enough and no other sender waits. Otherwise it arranges for the
// task to be woken when all is reserved.
func (f *reserveManyFuture[T]) Poll(cx *sched.Context) (Permits[T], error) {
	if !cx.Proceed() {
		return Permits[T]{}, sched.ErrPending
	}
	p, err := f.await(cx, cx.Waker())
	if err == sched.ErrPending {
		cx.Refund()
	}
	return p, err
}

func (f *reserveManyFuture[T]) await(cx *sched.Context, w sched.Waker) (Permits[T], error) {
	var is outcome
	if f.waits() {
		is = f.look()
	} else {
		if p, err := f.s.TryReserveMany(f.n); err != ErrFull {
			return p, err
		}
		f.node.Value.need = f.n
		is = full
	}
	if is == full {
		is = f.wait(cx, w)
	}
	if is == full {
		return Permits[T]{}, sched.ErrPending
	}
	f.node.Value.need = 0
	return f.ch.permits(f.n, is)
}

// Cancel ends the wait, and gives back the room that it has got so far.
func (f *reserveManyFuture[T]) Cancel() { f.cancel() }
