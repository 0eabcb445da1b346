package sched

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// A waitList is a FIFO list of waiters. Its owner's mutex guards the list and its nodes.
type waitList struct{ list.List[Waker] }

// A waitNode is a place in a list. It is part of the future that waits.
type waitNode = list.Node[Waker]

// add puts the node into the list, or updates its waker if the node is in the list already.
func (l *waitList) add(n *waitNode, w Waker) {
	n.Value = w
	if !n.Listed() {
		l.PushBack(n)
	}
}

// remove takes the node out of the list.
func (l *waitList) remove(n *waitNode) {
	l.Remove(n)
	n.Value = Waker{}
}

// wakeAll takes all waiters out of the list and wakes them. mu is the list's mutex; it is held,
// and wakeAll releases it. No waiter is woken under mu: that takes other locks, and there may be
// many waiters. Between two batches some may leave and others arrive. Those may then be woken in
// vain: each checks its condition itself.
func (l *waitList) wakeAll(cx *Context, mu *atomics.Mutex) {
	var batch [list.Batch]Waker
	for due := l.Len(); ; mu.Lock() { // most waiters that arrive meanwhile are not woken
		n := 0
		for ; n < len(batch) && due > 0 && l.Len() > 0; n++ {
			first := l.Front()
			batch[n] = first.Value
			l.remove(first)
			due--
		}
		mu.Unlock()
		for _, w := range batch[:n] {
			wake(cx, w)
		}
		if n < len(batch) {
			return
		}
	}
}

// takeAll takes all waiters out of the list, for the caller to wake.
func (l *waitList) takeAll() (all []Waker) {
	for n := l.Front(); n != nil; n = l.Front() {
		all = append(all, n.Value)
		l.remove(n)
	}
	return all
}
