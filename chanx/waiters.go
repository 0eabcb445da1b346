package chanx

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// What a waiter is. It becomes waiting, and idle again, by its owner; told and refused
// by whoever takes it out of the queue. All of that under the queue's lock.
const (
	idle    = iota // in no queue
	waiting        // in the queue
	told           // taken out: there was something for it
	refused        // taken out: the channel has closed
)

// A waiter is a place in a queue, part of the future that waits.
type waiter = list.Node[waits]

type waits struct {
	waker sched.Waker
	state atomics.Uint32 // written under the queue's lock
}

// A waitQueue holds those that wait for something, first come first.
//
// No wake-up is lost, and those who have nobody to wake do not touch the lock. One
// that waits first puts itself into the queue, which stores n, and then looks once
// more whether it has to wait. One that makes something available first does so, by
// an atomic operation, and then loads n. In the one order of all atomic operations
// (Go's are sequentially consistent) either the load comes after the store and finds
// the waiter, or the second look comes after what was made available and finds that
// (Dekker).
type waitQueue struct {
	n    atomics.Int32 // how many wait; written under mu
	mu   atomics.Mutex // guards list and its nodes
	list list.List[waits]
}

// some reports whether there may be somebody to wake: one load.
func (q *waitQueue) some() bool { return q.n.Load() != 0 }

// enlist has the waiter wait, with that waker from now on if it does already. One that
// was told, perhaps just now, waits again. So the caller must then look once more.
func (q *waitQueue) enlist(n *waiter, w sched.Waker) {
	q.mu.Lock()
	q.add(n, w)
	q.mu.Unlock()
}

// add is enlist under the lock.
func (q *waitQueue) add(n *waiter, w sched.Waker) {
	n.Value.waker = w
	if !n.Listed() {
		q.list.PushBack(n)
		n.Value.state.Store(waiting)
		q.n.Store(int32(q.list.Len()))
	}
}

// leave has the waiter wait no more, and returns what it was until now.
func (q *waitQueue) leave(n *waiter) (was uint32) {
	if n.Value.state.Load() == idle { // only its owner, who is here, changes that
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

// take takes the first waiter out of the queue, for its state to be that; ok is false if
// there is none. The caller holds the lock, and wakes w when it does not any more.
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

// wakeOne tells the first of those that wait.
func (q *waitQueue) wakeOne(cx *sched.Context) {
	q.mu.Lock()
	w, ok := q.take(told)
	q.mu.Unlock()
	if ok {
		wake(cx, w)
	}
}

// wakeAll takes all that wait out of the queue, for their state to be that, and wakes
// them: outside of the lock, since waking takes others, and there may be many.
func (q *waitQueue) wakeAll(cx *sched.Context, state uint32) {
	var batch [list.Batch]sched.Waker
	q.mu.Lock()
	for due := q.list.Len(); ; q.mu.Lock() { // those that come meanwhile are not due
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
