package syncx

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// A Barrier makes a fixed number of tasks or goroutines wait for one another, again and again. The
// last one to arrive is the leader of the generation, and the next generation begins. Make one
// with NewBarrier. All methods may be called from any goroutine.
//
// A canceled wait does not count: the others wait for one more arrival.
type Barrier struct {
	size       int
	generation atomics.Uint64 // complete generations; changes under queue.mu
	arrived    int            // arrivals of this generation; under queue.mu
	queue      queue          // waiters of this generation, and of earlier ones until they are woken
}

// NewBarrier returns a barrier for n parties. It panics if n is less than 1.
func NewBarrier(n int) *Barrier {
	if n < 1 {
		panic(fmt.Sprintf("syncx: a barrier for %d: it needs at least 1", n))
	}
	return &Barrier{size: n}
}

// Wait waits until the generation is complete, as sched.Await does, and reports whether the caller
// is its leader. Its error is that of sched.Await.
func (b *Barrier) Wait(ctx context.Context) (leader bool, err error) {
	f := arrivals.get()
	f.b = b
	leader, err = sched.Await(ctx, f)
	arrivals.put(f)
	return leader, err
}

// A barrierFuture arrives at a barrier, see Barrier.WaitFuture.
type barrierFuture struct {
	b     *Barrier
	place place
}

var (
	_ sched.Future[bool] = (*barrierFuture)(nil)
	_ sched.Canceler     = (*barrierFuture)(nil)

	arrivals pool[barrierFuture]
)

// WaitFuture returns a future that arrives at the barrier with its first poll, and is done when all
// have arrived. Its value says whether it was the last one. It never fails.
func (b *Barrier) WaitFuture() sched.Future[bool] { return &barrierFuture{b: b} }

// Poll implements sched.Future.
func (f *barrierFuture) Poll(cx *sched.Context) (leader bool, err error) {
	w := cx.Waker()
	if waits(&f.place, w) {
		return false, sched.ErrPending
	}
	return f.b.poll(cx, &f.place, w)
}

// Cancel reverts the arrival, unless the generation is complete.
func (f *barrierFuture) Cancel() { f.b.leave(&f.place) }

func (b *Barrier) poll(cx *sched.Context, p *place, w sched.Waker) (leader bool, err error) {
	b.queue.mu.Lock()
	switch now := b.generation.Load(); {
	case p.Value.state.Load() == idle:
		if b.arrived+1 == b.size && !cx.Proceed() { // a leader does not wait, and may be the next leader as well
			err = sched.ErrPending
			break
		}
		if b.arrived++; b.arrived == b.size {
			b.arrived = 0
			b.tell(b.generation.Add(1))
			return true, nil
		}
		b.queue.push(p, w, now)
		err = sched.ErrPending
	case p.Value.need == now:
		p.Value.waker = w
		err = sched.ErrPending
	default: // woken, or about to be
		b.queue.list.Remove(p)
		settle(p)
	}
	b.queue.mu.Unlock()
	return false, err
}

// tell wakes the waiters of generations before now. The lock is held, and tell releases it.
func (b *Barrier) tell(now uint64) {
	for ; ; b.queue.mu.Lock() {
		var due batch
		for !due.full() && !b.queue.empty() && b.queue.list.Front().Value.need < now {
			due.add(b.queue.pop(noticed))
		}
		b.queue.mu.Unlock()
		more := due.full()
		due.wake()
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
