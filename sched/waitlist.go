package sched

import "sync"

// A waitList holds those that wait for something, first come first. Its owner's
// mutex guards it and its nodes.
type waitList struct {
	root waitNode // of the ring; its next is the first; nil: nobody has waited yet
	len  int
}

// A waitNode is a place in a list. It is part of the future that waits, so that
// waiting allocates nothing.
type waitNode struct {
	prev, next *waitNode // nil: in no list
	waker      Waker
}

func (n *waitNode) waits() bool { return n.next != nil }

// add has the node wait, with that waker from now on if it does already.
func (l *waitList) add(n *waitNode, w Waker) {
	n.waker = w
	if n.waits() {
		return
	}
	if l.root.next == nil {
		l.root.prev, l.root.next = &l.root, &l.root
	}
	n.prev, n.next = l.root.prev, &l.root
	n.prev.next, n.next.prev = n, n
	l.len++
}

// remove has the node wait no more.
func (l *waitList) remove(n *waitNode) {
	if n.waits() {
		n.prev.next, n.next.prev = n.next, n.prev
		*n = waitNode{}
		l.len--
	}
}

// wakeAll takes all that wait out of the list and wakes them. mu is the list's
// mutex, which is held, and is not any more when it returns. Nobody is woken under
// it: that takes other locks, and there may be many.
func (l *waitList) wakeAll(cx *Context, mu *sync.Mutex) {
	var batch [32]Waker
	for due := l.len; ; mu.Lock() { // those that come meanwhile are not due
		n := 0
		for ; n < len(batch) && due > 0 && l.len > 0; n++ {
			first := l.root.next
			batch[n] = first.waker
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
