package syncx

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// The states of a place in a queue. It leaves idle, and returns there, by what its own
// future does. All changes are made under the queue's lock, except that from granted,
// noticed or refused to idle: those are out of the queue and the future's alone.
const (
	idle     uint32 = iota // in no queue, with nothing
	queued                 // waits
	summoned               // waits still, and was woken to help itself (Mutex alone)
	granted                // has what it waited for
	noticed                // was told by a broadcast: has nothing that could be passed on
	refused                // will never get it
)

// A waiter is one who waits.
type waiter struct {
	waker sched.Waker    // of its last poll; only its own poll writes it, under the lock
	need  uint64         // what it waits for still; under the lock
	got   uint64         // what it has already; under the lock while it is queued
	state atomics.Uint32 // read without the lock
}

// A place in a queue is part of the future that waits.
type place = list.Node[waiter]

// A queue is those who wait for one thing, first come first.
type queue struct {
	mu   atomics.Mutex // held for some instructions; nobody is woken under it
	list list.List[waiter]
}

// push has p wait.
func (q *queue) push(p *place, w sched.Waker, need uint64) {
	p.Value.waker, p.Value.need, p.Value.got = w, need, 0
	p.Value.state.Store(queued)
	q.list.PushBack(p)
}

// pop takes the first out, and returns whom to wake. From the store of the state on,
// the place is its future's, and may be anything: this is the last that is done to it,
// and whatever else its owner is to find must have been done before.
func (q *queue) pop(state uint32) sched.Waker { return pop(&q.list, state) }

func pop(l *list.List[waiter], state uint32) sched.Waker {
	p := l.Front()
	l.Remove(p)
	w := p.Value.waker
	p.Value.state.Store(state)
	return w
}

func (q *queue) empty() bool { return q.list.Len() == 0 }

// waits reports whether p waits and will wake w: then there is nothing to be done,
// and no lock to be taken. Only p's own poll may ask.
func waits(p *place, w sched.Waker) bool {
	return p.Value.state.Load() == queued && p.Value.waker == w
}

// settle makes a place ready to be used again. It is in no queue.
func settle(p *place) {
	p.Value.waker = sched.Waker{}
	p.Value.state.Store(idle)
}

// A batch is wakers to be woken when the lock is free.
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
func (b *batch) wake(cx *sched.Context) {
	for _, w := range b.wakers[:b.n] {
		wake(cx, w)
	}
	b.n = 0
}
