package chanx

import "github.com/suiro-go/suiro/sched"

// A place is what those who wait for room have in common.
type place[T any] struct {
	ch   *bounded[T] // nil: of a handle that was closed
	node waiter
}

// wait waits for a permit. done: it has been given; full: wait on; closed.
func (p *place[T]) wait(cx *sched.Context, w sched.Waker) outcome {
	p.ch.grant(cx, &newSender{&p.node, w})
	return p.look()
}

// look says what has become of the wait. Whatever is not waiting any more is its
// owner's alone.
func (p *place[T]) look() outcome {
	switch p.node.Value.state.Load() {
	case told:
		p.node.Value.state.Store(idle)
		return done
	case refused:
		p.node.Value.state.Store(idle)
		return closed
	default:
		return full
	}
}

// waits reports whether the place is in use.
func (p *place[T]) waits() bool { return p.node.Value.state.Load() != idle }

// cancel gives the place up, and a permit that has been given.
func (p *place[T]) cancel() {
	if p.ch != nil && p.ch.senders.leave(&p.node) == told {
		p.ch.unreserve(nil)
	}
}

// A SendFuture sends one value, see Sender.SendFuture. It is done when the value is in
// the channel; its error is ErrClosed. One that is abandoned before has sent nothing. It
// belongs to one task at a time, and must not be copied.
type SendFuture[T any] struct {
	place[T]
	value T
	sent  bool
}

var (
	_ sched.Future[struct{}] = (*SendFuture[int])(nil)
	_ sched.Canceler         = (*SendFuture[int])(nil)
)

// Poll sends the value if there is room and nobody came before, or has the task woken
// when its turn has come. It takes one unit of the task's budget. After it was done,
// and a Reset, it sends another one.
func (f *SendFuture[T]) Poll(cx *sched.Context) (struct{}, error) {
	if !cx.Proceed() {
		return struct{}{}, sched.ErrPending
	}
	if f.ch == nil {
		return struct{}{}, ErrClosed
	}
	if !f.waits() {
		switch f.ch.send(cx, f.value) {
		case done:
			f.sent = true
			f.value = *new(T)
			return struct{}{}, nil
		case closed:
			return struct{}{}, ErrClosed
		}
	}
	return struct{}{}, f.await(cx, cx.Waker())
}

// await is the rest of Poll, for one that has to wait or does so already.
func (f *SendFuture[T]) await(cx *sched.Context, w sched.Waker) error {
	is := f.look()
	if is == full {
		is = f.wait(cx, w)
	}
	switch is {
	case full:
		return sched.ErrPending
	case closed:
		return f.ended(ErrClosed)
	default:
		return f.ended(f.ch.sendReserved(cx, f.value))
	}
}

// getSend is a future that was not in use, for the methods that wait.
func (c *bounded[T]) getSend(v T) *SendFuture[T] {
	f := take[SendFuture[T]](&c.sends)
	f.ch, f.value, f.sent = c, v, false
	return f
}

func (c *bounded[T]) putSend(f *SendFuture[T]) {
	f.value = *new(T)
	c.sends.Put(f)
}

func (f *SendFuture[T]) ended(err error) error {
	if err == nil {
		f.sent = true
		f.value = *new(T)
	}
	return err
}

// Reset has the next Poll send v: after the last value was sent, or failed to be, or
// the future was cancelled.
func (f *SendFuture[T]) Reset(v T) {
	if f.ch != nil && f.waits() {
		panic("chanx: Reset of a SendFuture that waits: Cancel it first")
	}
	f.value, f.sent = v, false
}

// Unsent is the value if it has not been sent: for those who abandoned the future, as
// the losers of a Select are, or got an error.
func (f *SendFuture[T]) Unsent() (v T, ok bool) { return f.value, !f.sent }

// Cancel gives the place among those that wait up. The value has then not been sent.
func (f *SendFuture[T]) Cancel() { f.cancel() }

// A ReserveFuture reserves room for one value, see Sender.ReserveFuture. It belongs to
// one task at a time, and must not be copied.
type ReserveFuture[T any] struct{ place[T] }

var (
	_ sched.Future[Permit[int]] = (*ReserveFuture[int])(nil)
	_ sched.Canceler            = (*ReserveFuture[int])(nil)
)

// Poll reserves room if there is some and nobody came before, or has the task woken
// when its turn has come. The error is ErrClosed. It takes one unit of the task's
// budget. After it was done it reserves once more.
func (f *ReserveFuture[T]) Poll(cx *sched.Context) (Permit[T], error) {
	if !cx.Proceed() {
		return Permit[T]{}, sched.ErrPending
	}
	if f.ch == nil {
		return Permit[T]{}, ErrClosed
	}
	is := full
	if !f.waits() {
		is = f.ch.reserve()
	} else {
		is = f.look()
	}
	if is == full {
		is = f.wait(cx, cx.Waker())
	}
	if is == full {
		return Permit[T]{}, sched.ErrPending
	}
	return f.ch.permit(is)
}

// Cancel gives the place among those that wait up.
func (f *ReserveFuture[T]) Cancel() { f.cancel() }
