package syncx

import (
	"runtime"

	"github.com/suiro-go/suiro/sched"
)

// The word of a mutex:
//
//	bit 0    it is locked
//	bit 1    somebody waits: the list is not empty; changes under queue.mu
//	bit 2    the first of them has been summoned; changes under queue.mu
//	bits 3-  how often the lock was taken since then
//
// No wake-up is lost, because when somebody waits, then somebody is bound to look after
// them: whoever holds the lock, or if nobody does, the first, who has been summoned. In
// detail:
//
//   - Who comes to wait sets bit 1 in a compare-and-swap that finds the lock taken. The
//     holder's unlock therefore finds it, be it by its own compare-and-swap that fails.
//   - An unlock that finds bit 1 and nobody summoned summons the first: it frees the
//     lock, sets bit 2 and wakes the first.
//   - An unlock that finds bit 2 has somebody else's summons to rely on, and just frees
//     the lock. That one has been woken or is about to be, and has not been here since, or
//     it would have the lock or bits 3- would be at their limit.
//   - An unlock that finds bits 3- at their limit leaves the lock taken, by the first.
//   - One that was summoned and comes takes the lock and leaves the list, with bits 2 and
//     3-; its own unlock is the next to see to the others. If the lock is taken it sets bits
//     3- to their limit: the holder's unlock hands over.
//   - One that was summoned and leaves summons the next, or leaves that to the holder.
//
// Under queue.mu, with the lock taken by the caller, nobody else changes the word; with
// the lock free or somebody else's, others may take it and free it.
const (
	mutexLocked   = 1 << 0
	mutexWaited   = 1 << 1
	mutexSummoned = 1 << 2
	mutexPass     = 1 << 3
)

// mutexPasses is how often those who wait may be overtaken while the first is on its
// way. It should cover what a few tasks do in one run, that is their budget, so that one
// which has woken another need not switch to it at once; and what another worker needs to
// wake up, some tens of microseconds. With 0 the lock is handed over each time. Tests
// change it.
var mutexPasses uint32 = 1024

// mutexSpins is how often whoever finds the lock taken looks whether it has become free:
// for one or two microseconds in all, which covers a short critical section on another thread,
// and is less than what it costs to wake another worker. Tests change it.
var mutexSpins = spins()

func spins() int {
	if runtime.NumCPU() == 1 {
		return 0
	}
	return 40
}

// pause is what passes between two looks, some tens of nanoseconds: each of them takes
// the word away from the holder's processor, which then waits for it to unlock.
func pause() {
	for range 50 {
	}
}

func passes(word uint32) uint32 { return word / mutexPass }

// free reports whether the lock can be taken.
func free(word uint32) bool {
	return word&mutexLocked == 0 && (word == 0 || passes(word) < mutexPasses)
}

// taken is the word after that.
func taken(word uint32) uint32 {
	if word != 0 {
		word += mutexPass
	}
	return word | mutexLocked
}

// barge takes the lock if it is free, whoever waits.
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
func (m *Mutex) unlock(cx *sched.Context) {
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
	wake(cx, w)
}

// pass does what the word says, and returns whom to wake. The lock is the caller's, and
// so is that of the queue.
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

// summon has the first come for the lock, and returns whom to wake for that.
func (m *Mutex) summon() sched.Waker {
	first := &m.queue.list.Front().Value
	first.state.Store(summoned)
	return first.waker
}

// poll takes the lock for a place, or has it wait with that waker.
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

// enter takes the lock or waits.
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

// claim takes the lock for the first, who was summoned, or has it handed over next.
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

// leave has a place wait no more. What it was given goes to the next.
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
	wake(nil, w)
}

// left has the word say who waits now that one has gone, and returns whom to wake.
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
