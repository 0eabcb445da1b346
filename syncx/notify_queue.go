package syncx

import "github.com/suiro-go/suiro/sched"

func (n *Notify) calls() uint64 { return n.word.Load() / notifyCall }

// one tells the first that waits, or stores that.
func (n *Notify) one(cx *sched.Context) {
	for {
		old := n.word.Load()
		if old&notifyState == notifyWaited {
			break
		}
		// Even if it is stored: who takes it after this must see what came before it.
		if n.word.CompareAndSwap(old, old&^notifyState|notifyStored) {
			return
		}
	}
	n.queue.mu.Lock()
	w := n.pass()
	n.queue.mu.Unlock()
	wake(cx, w)
}

// pass is one with the lock held, and returns whom to wake.
func (n *Notify) pass() sched.Waker {
	for {
		old := n.word.Load()
		if old&notifyState == notifyWaited { // until the lock is free
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

// all tells those who wait now, at once: the queue is empty then. They are woken in
// batches, between which the lock is free.
func (n *Notify) all(cx *sched.Context) {
	n.queue.mu.Lock()
	if n.queue.empty() {
		n.word.Add(notifyCall)
	} else {
		n.word.Store(n.word.Load()&^notifyState + notifyCall) // somebody waits: nobody else changes it
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
		b.wake(cx)
		if !more {
			return
		}
		n.queue.mu.Lock()
	}
}

// poll looks for what a place is to be told, or has it wait with that waker. When it is
// done, since is the count of now.
func (n *Notify) poll(p *place, since *uint64, w sched.Waker) bool {
	switch p.Value.state.Load() {
	case granted, noticed:
		settle(p)
		*since = n.calls()
		return true
	}
	n.queue.mu.Lock()
	defer n.queue.mu.Unlock()
	switch p.Value.state.Load() {
	case idle:
		if !n.enter(p, *since, w) {
			return false
		}
	case queued:
		if p.Value.need == n.calls() {
			p.Value.waker = w
			return false
		}
		n.due.Remove(p) // NotifyWaiters would wake it
		settle(p)
	default:
		settle(p)
	}
	*since = n.calls()
	return true
}

// enter takes what is stored, or waits.
func (n *Notify) enter(p *place, since uint64, w sched.Waker) bool {
	for {
		old := n.word.Load()
		switch {
		case old/notifyCall != since: // it is not to take what is stored for another
			return true
		case old&notifyState == notifyStored:
			if n.word.CompareAndSwap(old, old&^notifyState) {
				return true
			}
		case n.word.CompareAndSwap(old, old&^notifyState|notifyWaited):
			n.queue.push(p, w, since)
			return false
		}
	}
}

// remove takes a place that is queued out of its list. The lock is held.
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

// leave has a place wait no more.
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
	wake(nil, w)
}
