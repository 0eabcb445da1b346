package syncx

import "github.com/suiro-go/suiro/sched"

func (n *Notify) calls() uint64 { return n.word.Load() / notifyCall }

// one notifies the first waiter, or stores a permit.
func (n *Notify) one() {
	for {
		old := n.word.Load()
		if old&notifyState == notifyWaited {
			break
		}
		// Also if one is stored: a later taker must see the writes before this call.
		if n.word.CompareAndSwap(old, old&^notifyState|notifyStored) {
			return
		}
	}
	n.queue.mu.Lock()
	w := n.pass()
	n.queue.mu.Unlock()
	wake(w)
}

// pass is one with the lock held, and returns the waker to wake.
func (n *Notify) pass() sched.Waker {
	for {
		old := n.word.Load()
		if old&notifyState == notifyWaited { // it stays so until the lock is free
			if n.queue.list.Len() == 1 {
				n.word.Store(old &^ notifyState)
			}
			return n.queue.pop(granted)
		}
		if n.word.CompareAndSwap(old, old&^notifyState|notifyStored) {
			return sched.Waker{}
		}
	}
}

// all notifies all current waiters at once: the queue is empty after that. They are woken in
// batches. The lock is free between two batches.
func (n *Notify) all() {
	n.queue.mu.Lock()
	if n.queue.empty() {
		n.word.Add(notifyCall)
	} else {
		n.word.Store(n.word.Load()&^notifyState + notifyCall) // a task waits, so nobody else changes the word
	}
	n.due.PushBackList(&n.queue.list)
	now := n.calls()
	for {
		var b batch
		for !b.full() && n.due.Len() > 0 && n.due.Front().Value.need < now {
			b.add(pop(&n.due, noticed))
		}
		n.queue.mu.Unlock()
		more := b.full()
		b.wake()
		if !more {
			return
		}
		n.queue.mu.Lock()
	}
}

// poll takes a place's notification, or enqueues the place with that waker. When it is done, since
// is the current count, and the place has got 1 if the notification is a NotifyOne's, otherwise 0.
func (n *Notify) poll(p *place, since *uint64, w sched.Waker) bool {
	switch state := p.Value.state.Load(); state {
	case granted, noticed:
		n.settle(p, state)
		*since = n.calls()
		return true
	}
	n.queue.mu.Lock()
	defer n.queue.mu.Unlock()
	switch state := p.Value.state.Load(); state {
	case idle:
		if !n.enter(p, *since, w) {
			return false
		}
	case queued:
		if p.Value.need == n.calls() {
			p.Value.waker = w
			return false
		}
		n.due.Remove(p) // otherwise NotifyWaiters would wake it
		n.settle(p, noticed)
	default:
		n.settle(p, state)
	}
	*since = n.calls()
	return true
}

// settle ends the wait of a place that was notified.
func (n *Notify) settle(p *place, state uint32) {
	p.Value.got = 0
	if state == granted {
		p.Value.got = 1
	}
	settle(p)
}

// enter takes a stored permit, or enqueues the place.
func (n *Notify) enter(p *place, since uint64, w sched.Waker) bool {
	for {
		old := n.word.Load()
		switch {
		case old/notifyCall != since: // it must not take a permit stored for another waiter
			p.Value.got = 0
			return true
		case old&notifyState == notifyStored:
			if n.word.CompareAndSwap(old, old&^notifyState) {
				p.Value.got = 1
				return true
			}
		case n.word.CompareAndSwap(old, old&^notifyState|notifyWaited):
			n.queue.push(p, w, since)
			return false
		}
	}
}

// remove takes a queued place out of its list. The lock is held.
func (n *Notify) remove(p *place) {
	if p.Value.need != n.calls() {
		n.due.Remove(p)
		return
	}
	n.queue.list.Remove(p)
	if n.queue.empty() {
		n.word.Store(n.word.Load() &^ notifyState)
	}
}

// leave ends the wait of a place.
func (n *Notify) leave(p *place) {
	if p.Value.state.Load() == idle {
		return
	}
	n.queue.mu.Lock()
	var w sched.Waker
	switch p.Value.state.Load() {
	case queued:
		n.remove(p)
	case granted:
		w = n.pass()
	}
	settle(p)
	n.queue.mu.Unlock()
	wake(w)
}
