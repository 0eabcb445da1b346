package sending

// Take takes the right for the task, even if bytes are queued, since the queue is the task's. With
// tell the task runs when the hold ends. If the right is held, Take reports false and sets Queued
// and tell: the task keeps the bytes it would have sent.
func (r *Right) Take(as Holder, wantTell bool) bool {
	for {
		old := r.word.Load()
		held := old&holders != 0
		next := old&^tell | uint64(as)
		switch {
		case old&closed != 0:
			return false
		case held:
			next = old | Queued | tell
		case wantTell:
			next |= tell
		}
		if next == old || r.word.CompareAndSwap(old, next) {
			return !held
		}
	}
}

// Want makes the task run when the hold ends. It reports whether anybody holds the right; if nobody
// does, nothing changes.
func (r *Right) Want() (held bool) {
	for {
		old := r.word.Load()
		if old&holders == 0 {
			return false
		}
		if old&tell != 0 || r.word.CompareAndSwap(old, old|tell) {
			return true
		}
	}
}

// Bar keeps all but the task from the right. It reports whether nobody holds it;
// if somebody does, the task runs when that hold ends.
func (r *Right) Bar() (mine bool) {
	for {
		old := r.word.Load()
		mine = old&holders == 0
		next := old | barred
		if !mine {
			next |= tell
		}
		if next == old || r.word.CompareAndSwap(old, next) {
			return mine
		}
	}
}

// Drained notes that nothing is queued any more. The lock is held. It reports
// whether a goroutine waits for room that no holder will tell.
func (r *Right) Drained() (waiter bool) {
	for {
		old := r.word.Load()
		next := old &^ Queued
		waiter = old&holders == 0 && old&Waits != 0
		if waiter {
			next &^= Waits
		}
		if next == old || r.word.CompareAndSwap(old, next) {
			return waiter
		}
	}
}

// RoomCame ends the hold of a Room. The lock is held, as of when the task emptied
// the queue's entrance: a Queue after that finds no holder and wakes the task.
func (r *Right) RoomCame() { r.word.And(^uint64(holders | tell)) }

// Close keeps everybody from the right for good, and reports the holder. The task runs when that
// hold ends, and calls Close again. first: it was not closed before.
func (r *Right) Close() (held Holder, first bool) {
	old := r.word.Or(closed | tell)
	return Holder(old & holders), old&closed == 0
}
