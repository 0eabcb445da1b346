package syncx

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// A Barrier has so many wait for one another, again and again. The one that comes last
// is the leader of the generation, and the next one begins. Make one with NewBarrier. All
// methods may be called from any goroutine.
//
// Who gives up has not come: the others wait for somebody else in his place.
type Barrier struct {
	size       int
	generation atomics.Uint64 // that have been complete; changes under queue.mu
	arrived    int            // of this one; under queue.mu
	queue      queue          // of this one and, until they are told, of those before
}

// NewBarrier returns a barrier for n. It panics if n is less than 1.
func NewBarrier(n int) *Barrier {
	if n < 1 {
		panic(fmt.Sprintf("syncx: a barrier for %d: it needs at least 1", n))
	}
	return &Barrier{size: n}
}

// Wait waits, in a stackful task, until the generation is complete, and reports whether
// this is its leader. Its error is sched.ErrCancelled when the task is aborted
// meanwhile.
func (b *Barrier) Wait(cx *sched.Context) (leader bool, err error) {
	f := arrivals.get()
	f.b = b
	leader, err = sched.Await(cx, f)
	arrivals.put(f)
	return leader, err
}

// WaitContext is Wait for a goroutine, which must not be a worker's. Its error is that
// of ctx.
func (b *Barrier) WaitContext(ctx context.Context) (leader bool, err error) {
	f := arrivals.get()
	f.b = b
	leader, err = sched.Wait(ctx, f)
	arrivals.put(f)
	return leader, err
}

// A BarrierFuture comes to a barrier with its first poll, is done when all have come, and
// says whether it was the last. It fails never, and may be polled again to come once more.
type BarrierFuture struct {
	b     *Barrier
	place place
}

var (
	_ sched.Future[bool] = (*BarrierFuture)(nil)
	_ sched.Canceler     = (*BarrierFuture)(nil)

	arrivals pool[BarrierFuture]
)

// WaitFuture is a future that comes to the barrier.
func (b *Barrier) WaitFuture() *BarrierFuture { return &BarrierFuture{b: b} }

// Poll makes it a future.
func (f *BarrierFuture) Poll(cx *sched.Context) (leader bool, err error) {
	w := cx.Waker()
	if waits(&f.place, w) {
		return false, sched.ErrPending
	}
	return f.b.poll(cx, &f.place, w)
}

// Cancel takes the arrival back, unless the generation is complete.
func (f *BarrierFuture) Cancel() { f.b.leave(&f.place) }

func (b *Barrier) poll(cx *sched.Context, p *place, w sched.Waker) (leader bool, err error) {
	b.queue.mu.Lock()
	switch now := b.generation.Load(); {
	case p.Value.state.Load() == idle:
		if b.arrived+1 == b.size && !cx.Proceed() { // a leader has not waited, and may be the next one too
			err = sched.ErrPending
			break
		}
		if b.arrived++; b.arrived == b.size {
			b.arrived = 0
			b.tell(cx, b.generation.Add(1))
			return true, nil
		}
		b.queue.push(p, w, now)
		err = sched.ErrPending
	case p.Value.need == now:
		p.Value.waker = w
		err = sched.ErrPending
	default: // told, or about to be
		b.queue.list.Remove(p)
		settle(p)
	}
	b.queue.mu.Unlock()
	return false, err
}

// tell wakes those who wait for generations before that one. The lock is held, and is
// not any more when it returns.
func (b *Barrier) tell(cx *sched.Context, now uint64) {
	for ; ; b.queue.mu.Lock() {
		var due batch
		for !due.full() && !b.queue.empty() && b.queue.list.Front().Value.need < now {
			due.add(b.queue.pop(noticed))
		}
		b.queue.mu.Unlock()
		more := due.full()
		due.wake(cx)
		if !more {
			return
		}
	}
}

func (b *Barrier) leave(p *place) {
	if p.Value.state.Load() == idle {
		return
	}
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.queue.list.Remove(p)
	if p.Value.need == b.generation.Load() {
		b.arrived--
	}
	settle(p)
}
