package sched

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// A waitList holds those that wait for something, first come first. Its owner's
// mutex guards it and its nodes.
type waitList struct{ list.List[Waker] }

// A waitNode is a place in a list, part of the future that waits.
type waitNode = list.Node[Waker]

// add has the node wait, with that waker from now on if it does already.
func (l *waitList) add(n *waitNode, w Waker) {
	n.Value = w
	if !n.Listed() {
		l.PushBack(n)
	}
}

// remove has the node wait no more.
func (l *waitList) remove(n *waitNode) {
	l.Remove(n)
	n.Value = Waker{}
}

// wakeAll takes all that wait out of the list and wakes them. mu is the list's
// mutex, which is held, and is not any more when it returns. Nobody is woken under
// it: that takes other locks, and there may be many. Between two batches some may leave
// and others come, which may then be woken in vain: each looks for itself.
func (l *waitList) wakeAll(cx *Context, mu *atomics.Mutex) {
	var batch [list.Batch]Waker
	for due := l.Len(); ; mu.Lock() { // most of those that come meanwhile are not woken
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
