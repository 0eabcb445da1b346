package syncx

import (
	"runtime"

	"github.com/suiro-go/suiro/sched"
)

// The word of a mutex:
//
//	bit 0    it is locked
//	bit 1    a task waits: the list is not empty; changes under queue.mu
//	bit 2    the first waiter has been summoned; changes under queue.mu
//	bits 3-  how often the lock was taken since then
//
// No wake-up is lost. While a task waits, there is always another party that must look at the
// queue. It is the holder of the lock; or, if there is no holder, the first waiter, which has been
// summoned. To summon a waiter is to wake it so that it takes the lock itself. In detail:
//
//   - A newcomer sets bit 1 in a compare-and-swap that finds the lock taken. So the holder's
//     unlock finds the bit, at the latest when its own compare-and-swap fails.
//   - An unlock that finds bit 1 and no summoned waiter summons the first one: it frees the lock,
//     sets bit 2 and wakes the first waiter.
//   - An unlock that finds bit 2 relies on an earlier summons, and just frees the lock. The
//     summoned waiter has been woken or is about to be, and has not polled since. Otherwise it
//     would have the lock, or bits 3- would be at their limit.
//   - An unlock that finds bits 3- at their limit leaves the lock taken, now by the first waiter.
//   - A summoned waiter that polls takes the lock, leaves the list, and clears bits 2 and 3-. Its
//     own unlock will look after the other waiters. If the lock is taken, it sets bits 3- to their
//     limit: the holder's unlock then hands over.
//   - A summoned waiter that gives up summons the next one, or leaves that to the holder.
//
// While the caller holds queue.mu and the lock, nobody else changes the word. If the lock is free
// or held by others, others may take it and free it.
const (
	mutexLocked   = 1 << 0
	mutexWaited   = 1 << 1
	mutexSummoned = 1 << 2
	mutexPass     = 1 << 3
)

// mutexPasses is how often the waiters may be overtaken while the first one is about to run. It
// should cover the runs of a few tasks, each with its full budget, so that a task that has woken
// another one need not switch to it at once. It should also cover the wake-up of another worker,
// some tens of microseconds. With 0 the lock is always handed over. Tests change it.
var mutexPasses uint32 = 1024

// mutexSpins is how often a task that finds the lock taken checks again: for one or two
// microseconds in all. That covers a short critical section on another thread, and costs less than
// waking another worker. Tests change it.
var mutexSpins = spins()

func spins() int {
	if runtime.NumCPU() == 1 {
		return 0
	}
	return 40
}

// pause waits some tens of nanoseconds between two checks. Each check takes the word's cache line
// away from the holder's processor, which then waits for it in order to unlock.
func pause() {
	for range 50 {
	}
}

func passes(word uint32) uint32 { return word / mutexPass }

// free reports whether the lock can be taken.
func free(word uint32) bool {
	return word&mutexLocked == 0 && (word == 0 || passes(word) < mutexPasses)
}

// taken is the word after the lock has been taken.
func taken(word uint32) uint32 {
	if word != 0 {
		word += mutexPass
	}
	return word | mutexLocked
}

// barge takes the lock if it is free, even if others wait.
func (m *Mutex) barge() bool {
	for {
		old := m.word.Load()
		if !free(old) {
			return false
		}
		if m.word.CompareAndSwap(old, taken(old)) {
			return true
		}
	}
}

// unlock frees the lock, or hands it over.
func (m *Mutex) unlock() {
	for {
		old := m.word.Load()
		if old&mutexLocked == 0 {
			panic("syncx: unlock of a Mutex that is not locked")
		}
		if old&mutexSummoned == 0 || passes(old) >= mutexPasses {
			break
		}
		if m.word.CompareAndSwap(old, old&^mutexLocked) {
			return
		}
	}
	m.queue.mu.Lock()
	w := m.pass()
	m.queue.mu.Unlock()
	wake(w)
}

// pass unlocks or hands over, as the word says, and returns the waker to wake. The caller holds
// the lock, and queue.mu.
func (m *Mutex) pass() sched.Waker {
	old := m.word.Load()
	switch {
	case old&mutexLocked == 0:
		m.queue.mu.Unlock()
		panic("syncx: unlock of a Mutex that is not locked")
	case m.queue.empty():
		m.word.Store(0)
		return sched.Waker{}
	case passes(old) >= mutexPasses:
		next := uint32(mutexLocked)
		if m.queue.list.Len() > 1 {
			next |= mutexWaited
		}
		m.word.Store(next)
		return m.queue.pop(granted)
	case old&mutexSummoned != 0:
		m.word.Store(old &^ mutexLocked)
		return sched.Waker{}
	default:
		w := m.summon()
		m.word.Store(mutexWaited | mutexSummoned)
		return w
	}
}

// summon tells the first waiter to take the lock, and returns its waker.
func (m *Mutex) summon() sched.Waker {
	first := &m.queue.list.Front().Value
	first.state.Store(summoned)
	return first.waker
}

// poll takes the lock for a place, or enqueues the place with that waker.
func (m *Mutex) poll(p *place, w sched.Waker) bool {
	switch p.Value.state.Load() {
	case idle:
		if m.barge() {
			return true
		}
	case granted:
		settle(p)
		return true
	}
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	switch p.Value.state.Load() {
	case idle:
		return m.enter(p, w)
	case summoned:
		return m.claim(p, w)
	case granted:
		settle(p)
		return true
	default:
		p.Value.waker = w
		return false
	}
}

// enter takes the lock, or enqueues the place.
func (m *Mutex) enter(p *place, w sched.Waker) bool {
	for {
		old := m.word.Load()
		if free(old) {
			if m.word.CompareAndSwap(old, taken(old)) {
				return true
			}
		} else if m.word.CompareAndSwap(old, old|mutexWaited) {
			m.queue.push(p, w, 0)
			return false
		}
	}
}

// claim takes the lock for the first waiter, which was summoned, or requests that it be handed
// over next.
func (m *Mutex) claim(p *place, w sched.Waker) bool {
	for {
		old := m.word.Load()
		if old&mutexLocked == 0 {
			next := uint32(mutexLocked)
			if m.queue.list.Len() > 1 {
				next |= mutexWaited
			}
			if m.word.CompareAndSwap(old, next) {
				m.queue.list.Remove(p)
				settle(p)
				return true
			}
			continue
		}
		p.Value.waker = w
		next := old
		if passes(old) < mutexPasses {
			next = old%mutexPass + mutexPasses*mutexPass
		}
		if m.word.CompareAndSwap(old, next) {
			return false
		}
	}
}

// leave ends the wait of a place. If it has got the lock, the lock goes to the next waiter.
func (m *Mutex) leave(p *place) {
	if p.Value.state.Load() == idle {
		return
	}
	m.queue.mu.Lock()
	state := p.Value.state.Load()
	m.queue.list.Remove(p)
	settle(p)
	var w sched.Waker
	if state == granted {
		w = m.pass()
	} else {
		w = m.left(state == summoned)
	}
	m.queue.mu.Unlock()
	wake(w)
}

// left updates the word after a waiter has left, and returns the waker to wake.
func (m *Mutex) left(wasSummoned bool) sched.Waker {
	for {
		old := m.word.Load()
		next := old
		switch {
		case m.queue.empty():
			next &= mutexLocked
		case !wasSummoned:
			return sched.Waker{}
		case old&mutexLocked != 0:
			next = mutexLocked | mutexWaited // its unlock summons the next
		default:
			next = mutexWaited | mutexSummoned
		}
		if m.word.CompareAndSwap(old, next) {
			if next&mutexSummoned != 0 {
				return m.summon()
			}
			return sched.Waker{}
		}
	}
}
