package sched

import "github.com/suiro-go/suiro/internal/atomics"

// The state word of a task:
//
//	bits 40-63  references: who may still touch the envelope (see envelope.go)
//	bits 32-39  shield depth: cancellation waits while it is not 0
//	bits 24-31  flags
//	bits 16-23  lifecycle
//	bits  0-15  the low bits of the generation
//
// Lifecycle, and who may leave each state:
//
//	idle      → scheduled  whoever wakes the task; that one must queue it
//	idle      → running    whoever enters the task (enter.go), in a worker's stead
//	scheduled → running    the worker that took it from a queue
//	running   → idle       that worker, if no wake arrived meanwhile
//	running   → scheduled  that worker, if one did; it must queue the task
//	running   → complete   that worker
//
// A wake is never lost: the waker first publishes what it has to tell and then
// changes this word or finds it complete. Idle: it schedules the task, which
// will look. Scheduled: the task has still to start, and will look then.
// Running: it may have looked already, so notified is set, and the worker cannot
// leave running for idle past that bit, because both go through a
// compare-and-swap of this word. A wake that changes nothing still writes the
// word, so that what was published before it is seen by the run after it.
//
// A cancellation is a wake that also sets cancelled. The worker that would leave
// running for idle with cancelled set, and no shield up, schedules instead.
//
// The generation goes up when an envelope is used for another task. A waker
// knows which one it means. It compares the high bits first, which are kept beside
// the word and seldom change, and then changes the word by a compare-and-swap that
// contains the low 16: to mistake a new task for its own, it would have to stand
// still between these two instructions while the envelope is used exactly a
// multiple of 65,536 times, and would then cause one poll too many.
const (
	generationBits = 16
	generationMask = 1<<generationBits - 1

	lifecycleMask  = 0xff << 16
	stateIdle      = 0 << 16
	stateScheduled = 1 << 16
	stateRunning   = 2 << 16
	stateComplete  = 3 << 16

	notified     = 1 << 24 // a wake arrived while running: run once more
	cancelled    = 1 << 25 // the task is to end at its next suspension
	joinInterest = 1 << 26 // somebody is to be woken when it completes
	detached     = 1 << 27 // nobody will take its result
	enterable    = 1 << 28 // it may be entered

	oneShield  = 1 << 32
	shieldMask = 0xff << 32

	oneRef = 1 << 40
)

type state struct{ word atomics.Uint64 }

// dueToEnd reports that the task of a word is cancelled and not shielded.
func dueToEnd(word uint64) bool { return word&cancelled != 0 && word&shieldMask == 0 }

// wake notes a wake of the task with that generation and reports whether the
// caller must queue the task.
func (s *state) wake(generation uint64) (mustQueue bool) { return s.notify(generation, 0) }

// cancel notes a wish that the task end, like a wake.
func (s *state) cancel(generation uint64) (mustQueue bool) { return s.notify(generation, cancelled) }

func (s *state) notify(generation uint64, flag uint64) (mustQueue bool) {
	for {
		old := s.word.Load()
		if (old^generation)&generationMask != 0 {
			return false
		}
		next := old | flag
		switch old & lifecycleMask {
		case stateIdle:
			next = next&^lifecycleMask | stateScheduled
		case stateRunning:
			next |= notified
		case stateComplete:
			return false
		}
		if s.word.CompareAndSwap(old, next) {
			return old&lifecycleMask == stateIdle
		}
	}
}

// start is the way from scheduled to running. Nobody else leaves scheduled, and
// notified is not set there, so adding the difference is enough.
func (s *state) start() uint64 { return s.word.Add(stateRunning - stateScheduled) }

// enter is the way from idle to running, past scheduled, of a task that may be entered: if it reports true, the caller is
// the one that runs it, until suspend.
func (s *state) enter() bool {
	old := s.word.Load()
	return old&(lifecycleMask|enterable) == stateIdle|enterable && !dueToEnd(old) &&
		s.word.CompareAndSwap(old, old&^lifecycleMask|stateRunning)
}

// suspend leaves running. It reports whether the caller must queue the task: a
// wake arrived meanwhile, or the task is due to end.
func (s *state) suspend() (mustQueue bool) {
	for {
		old := s.word.Load()
		next, again := old&^(lifecycleMask|notified), old&notified != 0 || dueToEnd(old)
		if again {
			next |= stateScheduled
		}
		if s.word.CompareAndSwap(old, next) {
			return again
		}
	}
}

// goOn stays running, as if the task had left it, had been scheduled by the wake
// that has arrived, and had been started: false if none has, or it is due to end.
func (s *state) goOn() bool {
	for {
		old := s.word.Load()
		if old&notified == 0 || dueToEnd(old) {
			return false
		}
		if s.word.CompareAndSwap(old, old&^notified) {
			return true
		}
	}
}

// reschedule leaves running for scheduled: the caller must queue the task.
func (s *state) reschedule() {
	for {
		old := s.word.Load()
		if s.word.CompareAndSwap(old, old&^(lifecycleMask|notified)|stateScheduled) {
			return
		}
	}
}

// complete leaves running for good, and returns the word. It keeps the
// caller's reference.
func (s *state) complete() uint64 {
	for {
		old := s.word.Load()
		next := old&^(lifecycleMask|notified) | stateComplete
		if s.word.CompareAndSwap(old, next) {
			return next
		}
	}
}

// seize is the way to running for whoever ends a task that no worker will run
// any more; false: somebody else has done so, or it is complete.
//
// A task that is scheduled is not only in a queue: its waker may not have got to
// that yet, and looks at the task when it does. So that it finds this one, the envelope
// gets a reference that nobody gives up, and is not used again.
func (s *state) seize() bool { return s.end(oneRef) }

// seizeNew is seize for who has made the task and not told of it: nobody else has
// woken it.
func (s *state) seizeNew() bool { return s.end(0) }

func (s *state) end(stray uint64) bool {
	for {
		old := s.word.Load()
		next := old&^lifecycleMask | stateRunning
		switch old & lifecycleMask {
		case stateScheduled:
			next += stray
		case stateRunning, stateComplete:
			return false
		}
		if s.word.CompareAndSwap(old, next) {
			return true
		}
	}
}

// wantJoin asks for joiners to be woken; false: the task is complete.
func (s *state) wantJoin() bool {
	for {
		old := s.word.Load()
		if old&lifecycleMask == stateComplete {
			return false
		}
		if s.word.CompareAndSwap(old, old|joinInterest) {
			return true
		}
	}
}

func (s *state) isComplete() bool { return s.word.Load()&lifecycleMask == stateComplete }

// isLive reports whether the task has that generation and is not complete.
func (s *state) isLive(generation uint64) bool {
	word := s.word.Load()
	return (word^generation)&generationMask == 0 && word&lifecycleMask != stateComplete
}

// detach says that nobody will take the result, and gives up the reference of
// who would have, unless the task is complete. It returns the word before. Of it
// and complete, the later one sees the other and releases the result.
func (s *state) detach() uint64 {
	for {
		old := s.word.Load()
		if old&lifecycleMask == stateComplete || s.word.CompareAndSwap(old, (old|detached)-oneRef) {
			return old
		}
	}
}

// unref gives up a reference, and reports whether it was the last.
func (s *state) unref() bool {
	word := s.word.Add(^uint64(oneRef - 1))
	return word>>40 == 0
}

// shield defers cancellation until as many calls of unshield; at most 255 deep.
func (s *state) shield() {
	if s.word.Load()&shieldMask == shieldMask {
		panic("sched: more than 255 shields in one another")
	}
	s.word.Add(oneShield)
}

func (s *state) unshield() {
	if s.word.Load()&shieldMask == 0 {
		panic("sched: more shields lowered than raised")
	}
	s.word.Add(^uint64(oneShield - 1))
}
