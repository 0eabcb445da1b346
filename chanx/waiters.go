package chanx

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// The states of a waiter. Its owner sets waiting and idle. The goroutine that takes it out of the
// queue sets woken or refused. All changes are made under the queue's lock.
const (
	idle    = iota // in no queue
	waiting        // in the queue
	woken          // taken out: it may go on
	refused        // taken out: the channel has closed
)

// A waiter is a place in a queue. It is part of the future that waits.
type waiter = list.Node[waits]

type waits struct {
	waker sched.Waker
	state atomics.Uint32 // written under the queue's lock
}

// A waitQueue is a FIFO queue of waiters.
//
// No wake-up is lost, and the lock is taken only if somebody waits. A waiter first puts itself
// into the queue, which stores n, and then checks once more whether it has to wait. A goroutine
// that makes something available first does so, by an atomic operation, and then loads n. Go's
// atomic operations are sequentially consistent, so there is one order of all of them. Either the
// load comes after the store and finds the waiter. Or the second check comes after the change and
// finds it (Dekker).
type waitQueue struct {
	n    atomics.Int32 // number of waiters; written under mu
	mu   atomics.Mutex // guards list and its nodes
	list list.List[waits]
}

// some reports whether there may be a waiter to wake. It costs one load.
func (q *waitQueue) some() bool { return q.n.Load() != 0 }

// enlist puts the waiter into the queue, or updates its waker if it is in the queue. A waiter that
// was woken, perhaps just now, waits again. So the caller must then check once more.
func (q *waitQueue) enlist(n *waiter, w sched.Waker) {
	q.mu.Lock()
	q.add(n, w)
	q.mu.Unlock()
}

// add is enlist with the lock held.
func (q *waitQueue) add(n *waiter, w sched.Waker) {
	n.Value.waker = w
	if !n.Listed() {
		q.list.PushBack(n)
		n.Value.state.Store(waiting)
		q.n.Store(int32(q.list.Len()))
	}
}

// leave takes the waiter out of the queue, and returns its former state.
func (q *waitQueue) leave(n *waiter) (was uint32) {
	if n.Value.state.Load() == idle { // only its owner, which calls this, changes that
		return idle
	}
	q.mu.Lock()
	was = n.Value.state.Load()
	if was == waiting {
		q.remove(n)
	}
	n.Value.state.Store(idle)
	q.mu.Unlock()
	return was
}

func (q *waitQueue) remove(n *waiter) {
	q.list.Remove(n)
	n.Value.waker = sched.Waker{}
	q.n.Store(int32(q.list.Len()))
}

// take takes the first waiter out of the queue and sets its state. ok is false if there is none.
// The caller holds the lock, and wakes w after it has released the lock.
func (q *waitQueue) take(state uint32) (w sched.Waker, ok bool) {
	n := q.list.Front()
	if n == nil {
		return w, false
	}
	w = n.Value.waker
	q.remove(n)
	n.Value.state.Store(state) // last: from now on its owner need not take the lock
	return w, true
}

// wakeOne wakes the first waiter.
func (q *waitQueue) wakeOne(cx *sched.Context) {
	q.mu.Lock()
	w, ok := q.take(woken)
	q.mu.Unlock()
	if ok {
		wake(cx, w)
	}
}

// wakeAll takes all waiters out of the queue, sets their states, and wakes them. It wakes them
// without the lock, since that takes other locks, and there may be many waiters.
func (q *waitQueue) wakeAll(cx *sched.Context, state uint32) {
	var batch [list.Batch]sched.Waker
	q.mu.Lock()
	for due := q.list.Len(); ; q.mu.Lock() { // waiters that arrive meanwhile are not woken
		n := 0
		for ; n < len(batch) && n < due; n++ {
			w, ok := q.take(state)
			if !ok {
				due = n
				break
			}
			batch[n] = w
		}
		due -= n
		q.mu.Unlock()
		for _, w := range batch[:n] {
			wake(cx, w)
		}
		if due == 0 {
			return
		}
	}
}
