package syncx

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// The states of a place in a queue. Only its own future's methods move it out of idle and back to
// idle. All changes are made under the queue's lock, except those from granted, noticed or refused
// to idle. In these states the place is out of the queue, and only the future uses it.
const (
	idle     uint32 = iota // in no queue, with nothing
	queued                 // waits in the queue
	summoned               // still waits, and was woken to take the lock itself (Mutex only)
	granted                // has got what it waited for
	noticed                // was woken by a broadcast: it has nothing to pass on
	refused                // will never get it
)

// A waiter is the state of a wait.
type waiter struct {
	waker sched.Waker    // of its last poll; only its own poll writes it, under the lock
	need  uint64         // what it still waits for; under the lock
	got   uint64         // what it has got so far; under the lock while it is queued
	state atomics.Uint32 // read without the lock
}

// A place is a node of a queue, and part of the future that waits.
type place = list.Node[waiter]

// A queue is a FIFO list of waiters for one object.
type queue struct {
	mu   atomics.Mutex // held for some instructions; no waiter is woken under it
	list list.List[waiter]
}

// push enqueues p.
func (q *queue) push(p *place, w sched.Waker, need uint64) {
	p.Value.waker, p.Value.need, p.Value.got = w, need, 0
	p.Value.state.Store(queued)
	q.list.PushBack(p)
}

// pop takes out the first place, and returns its waker. After the state has been stored, the place
// belongs to its future, and may change at once. So this store is the last one, after all other
// writes for the owner.
func (q *queue) pop(state uint32) sched.Waker { return pop(&q.list, state) }

func pop(l *list.List[waiter], state uint32) sched.Waker {
	p := l.Front()
	l.Remove(p)
	w := p.Value.waker
	p.Value.state.Store(state)
	return w
}

func (q *queue) empty() bool { return q.list.Len() == 0 }

// waits reports whether p waits and will wake w. Then there is nothing to do, and no lock to take.
// Only p's own poll may call it.
func waits(p *place, w sched.Waker) bool {
	return p.Value.state.Load() == queued && p.Value.waker == w
}

// settle makes a place ready for the next wait. The place is in no queue.
func settle(p *place) {
	p.Value.waker = sched.Waker{}
	p.Value.state.Store(idle)
}

// A batch collects wakers, to wake them without the lock.
type batch struct {
	wakers [list.Batch]sched.Waker
	n      int
}

func (b *batch) add(w sched.Waker) {
	b.wakers[b.n] = w
	b.n++
}

func (b *batch) full() bool { return b.n == list.Batch }

// wake wakes them, and empties the batch.
func (b *batch) wake() {
	for _, w := range b.wakers[:b.n] {
		wake(w)
	}
	b.n = 0
}
