package syncx

import "github.com/suiro-go/suiro/sched"

// The word of an RWMutex:
//
//	bit 0    a writer holds it
//	bit 1    a task waits: the list is not empty; changes under queue.mu
//	bits 2-  the number of readers that hold it
//
// While a task waits, only a hand-over sets bit 0 and adds readers, under queue.mu. A holder
// releases the lock, or changes from writer to reader, without queue.mu.
//
// No wake-up is lost. A newcomer sets bit 1 in a compare-and-swap that finds the lock held, and
// tries again if the word has changed. So the last holder finds bit 1, and hands over under
// queue.mu, which it gets after the newcomer has entered the list. A canceled waiter hands over as
// well, because those behind may have waited only for its place. A hand-over grants all that the
// word and the list allow, so one too many does no harm.
const (
	rwWriter = 1 << 0
	rwWaited = 1 << 1
	rwReader = 1 << 2
)

// The kinds of locks that a place waits for.
const (
	rwRead uint64 = iota
	rwWrite
)

// rwFree reports whether it can be locked without waiting.
func rwFree(word, kind uint64) bool {
	if kind == rwWrite {
		return word == 0
	}
	return word&(rwWriter|rwWaited) == 0
}

func rwTaken(word, kind uint64) uint64 {
	if kind == rwWrite {
		return word | rwWriter
	}
	return word + rwReader
}

func (rw *RWMutex) unlock() {
	if rw.word.CompareAndSwap(rwWriter, 0) {
		return
	}
	for {
		old := rw.word.Load()
		if old&rwWriter == 0 {
			panic("syncx: Unlock of an RWMutex that is not locked for writing")
		}
		if rw.word.CompareAndSwap(old, old&^rwWriter) {
			if old&rwWaited != 0 {
				rw.handOver()
			}
			return
		}
	}
}

// downgrade turns the writer into a reader. Readers at the head of the list may then get the lock.
func (rw *RWMutex) downgrade() {
	for {
		old := rw.word.Load()
		if old&rwWriter == 0 {
			panic("syncx: Downgrade of an RWMutex that is not locked for writing")
		}
		if rw.word.CompareAndSwap(old, old-rwWriter+rwReader) {
			if old&rwWaited != 0 {
				rw.handOver()
			}
			return
		}
	}
}

func (rw *RWMutex) runlock() {
	for {
		old := rw.word.Load()
		if old < rwReader {
			panic("syncx: RUnlock of an RWMutex that is not locked for reading")
		}
		if rw.word.CompareAndSwap(old, old-rwReader) {
			if old-rwReader == rwWaited {
				rw.handOver()
			}
			return
		}
	}
}

// handOver gives the lock to the waiters that may have it, in their order.
func (rw *RWMutex) handOver() {
	rw.queue.mu.Lock()
	rw.give()
}

// give is handOver with queue.mu held, and releases it.
func (rw *RWMutex) give() {
	w, one := rw.grant()
	if !one || rw.queue.empty() {
		rw.queue.mu.Unlock()
		if one {
			wake(w)
		}
		return
	}
	for {
		var b batch
		for ; one; w, one = rw.grant() {
			if b.add(w); b.full() {
				break
			}
		}
		rw.queue.mu.Unlock()
		more := b.full()
		b.wake()
		if !more {
			return
		}
		rw.queue.mu.Lock()
		w, one = rw.grant()
	}
}

// grant gives the lock to the first waiter, if that may have it.
func (rw *RWMutex) grant() (sched.Waker, bool) {
	for !rw.queue.empty() {
		old, kind := rw.word.Load(), rw.queue.list.Front().Value.need
		if old&rwWriter != 0 || kind == rwWrite && old >= rwReader {
			break
		}
		next := rwTaken(old, kind)
		if rw.queue.list.Len() == 1 {
			next &^= rwWaited
		}
		if rw.word.CompareAndSwap(old, next) { // before the first waiter learns of it, and unlocks
			return rw.queue.pop(granted), true
		}
	}
	return sched.Waker{}, false
}

// poll takes the lock for a place, or enqueues the place with that waker.
func (rw *RWMutex) poll(p *place, kind uint64, w sched.Waker) bool {
	switch p.Value.state.Load() {
	case idle:
		if kind == rwWrite && rw.TryLock() || kind == rwRead && rw.TryRLock() {
			return true
		}
	case granted:
		settle(p)
		return true
	}
	rw.queue.mu.Lock()
	defer rw.queue.mu.Unlock()
	switch p.Value.state.Load() {
	case idle:
		return rw.enter(p, kind, w)
	case granted:
		settle(p)
		return true
	default:
		p.Value.waker = w
		return false
	}
}

// enter takes the lock, or enqueues the place.
func (rw *RWMutex) enter(p *place, kind uint64, w sched.Waker) bool {
	for {
		old := rw.word.Load()
		if rwFree(old, kind) {
			if rw.word.CompareAndSwap(old, rwTaken(old, kind)) {
				return true
			}
		} else if rw.word.CompareAndSwap(old, old|rwWaited) {
			rw.queue.push(p, w, kind)
			return false
		}
	}
}

// leave ends the wait of a place. If it has got the lock, the lock goes to the next waiter.
func (rw *RWMutex) leave(p *place, kind uint64) {
	if p.Value.state.Load() == idle {
		return
	}
	rw.queue.mu.Lock()
	if p.Value.state.Load() == granted {
		settle(p)
		rw.queue.mu.Unlock()
		if kind == rwWrite {
			rw.unlock()
		} else {
			rw.runlock()
		}
		return
	}
	rw.queue.list.Remove(p)
	settle(p)
	for rw.queue.empty() {
		old := rw.word.Load()
		if rw.word.CompareAndSwap(old, old&^rwWaited) {
			break
		}
	}
	rw.give()
}
