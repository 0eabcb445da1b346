package sched

import "github.com/suiro-go/suiro/internal/atomics"

// The state word of a task:
//
//	bits 40-63  references that keep the envelope in use (see envelope.go)
//	bits 32-39  shield depth: cancellation waits while it is not 0
//	bits 24-31  flags
//	bits 16-23  lifecycle
//	bits  0-15  the low bits of the generation
//
// Lifecycle, and which goroutine makes each change:
//
//	idle      → scheduled  the goroutine that wakes the task; it must queue the task
//	idle      → running    a goroutine on a worker that enters the task (enter.go), or any
//	                       goroutine that inspects it (inspect.go)
//	scheduled → running    the worker that took the task from a queue
//	running   → idle       that worker, if no wake-up arrived meanwhile
//	running   → scheduled  that worker, if one did; it must queue the task
//	running   → complete   that worker
//
// A wake-up is never lost. The waker first publishes its event, and then changes this word or
// finds the task complete. If the task is idle, the waker schedules it, and it will see the event.
// If the task is scheduled, it has not started, and will see the event then. If the task is
// running, it may have checked already. So the waker sets notified, and the worker cannot change
// running to idle without seeing that bit, because both use a compare-and-swap of this word. A
// wake-up that changes no bit still writes the word, so that the next run sees the data that was
// published before it.
//
// A cancellation is a wake-up that also sets canceled. If canceled is set and no shield is up, the
// worker changes running to scheduled instead of idle.
//
// The generation increases when an envelope is used for another task. A waker knows the generation
// of its task. It first compares the high bits, which are kept beside the word and seldom change.
// Then it changes the word by a compare-and-swap that includes the low 16 bits. A waker could
// mistake a new task for its own only if it paused between these two instructions, while the
// envelope was used a multiple of 65,536 times. The effect would be one poll too many.
const (
	generationBits = 16
	generationMask = 1<<generationBits - 1

	lifecycleMask  = 0xff << 16
	stateIdle      = 0 << 16
	stateScheduled = 1 << 16
	stateRunning   = 2 << 16
	stateComplete  = 3 << 16

	notified     = 1 << 24 // a wake arrived while running: run once more
	canceled     = 1 << 25 // the task must end at its next suspension
	joinInterest = 1 << 26 // a joiner must be woken when the task completes
	detached     = 1 << 27 // nobody will take its result
	enterable    = 1 << 28 // it may be entered
	contexted    = 1 << 29 // the runtime has a context of it (taskcontext.go)
	counted      = 1 << 30 // Shutdown waits for its end (drain.go)

	oneShield  = 1 << 32
	shieldMask = 0xff << 32

	oneRef = 1 << 40
)

type state struct{ word atomics.Uint64 }

// dueToEnd reports that the task of a state word is canceled and not shielded.
func dueToEnd(word uint64) bool { return word&canceled != 0 && word&shieldMask == 0 }

// wake records a wake-up of the task with that generation, and reports whether the caller must
// queue the task.
func (s *state) wake(generation uint64) (mustQueue bool) { return s.notify(generation, 0) }

// cancel records an abort of the task. It is a wake-up, too.
func (s *state) cancel(generation uint64) (mustQueue bool) { return s.notify(generation, canceled) }

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

// start changes scheduled to running. Nobody else leaves scheduled, and notified is not set there,
// so it only needs to add the difference.
func (s *state) start() uint64 { return s.word.Add(stateRunning - stateScheduled) }

// enter changes idle directly to running, for a task that may be entered. If it reports true, the
// caller runs the task until suspend.
func (s *state) enter() bool {
	old := s.word.Load()
	return old&(lifecycleMask|enterable) == stateIdle|enterable && !dueToEnd(old) &&
		s.word.CompareAndSwap(old, old&^lifecycleMask|stateRunning)
}

// inspect changes idle to running, for a report that reads the task's state. If it reports true,
// the caller calls suspend.
func (s *state) inspect() bool {
	old := s.word.Load()
	return old&lifecycleMask == stateIdle && !dueToEnd(old) && s.word.CompareAndSwap(old, old|stateRunning)
}

// suspend leaves running. It reports whether the caller must queue the task, because a wake-up
// arrived meanwhile or the task is due to end.
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

// keepRunning keeps the task running. The effect is that of suspending it, scheduling it by the
// wake-up that has arrived, and starting it again. false: there was no wake-up, or the task is due
// to end.
func (s *state) keepRunning() bool {
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

// reschedule changes running to scheduled: the caller must queue the task.
func (s *state) reschedule() {
	for {
		old := s.word.Load()
		if s.word.CompareAndSwap(old, old&^(lifecycleMask|notified)|stateScheduled) {
			return
		}
	}
}

// complete changes running to complete, and returns the word. It keeps the caller's reference.
func (s *state) complete() uint64 {
	for {
		old := s.word.Load()
		next := old&^(lifecycleMask|notified) | stateComplete
		if s.word.CompareAndSwap(old, next) {
			return next
		}
	}
}

// seize changes the state to running in order to end a task that no worker will run any more.
// false: another caller has seized the task, or it is complete.
//
// A scheduled task is not necessarily in a queue: its waker may not have queued it yet, and will
// access the task when it does. So the envelope gets a reference that nobody gives up, and is not
// used again.
func (s *state) seize() bool { return s.end(oneRef) }

// seizeNew is seize for the creator of a task that nobody else knows, and so nobody else has
// woken.
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

// wantJoin requests a wake-up of the joiners at the end of the task. false: the task is complete.
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

// count sets counted, once. false: it was set, or the task is complete.
func (s *state) count() bool {
	for {
		old := s.word.Load()
		if old&counted != 0 || old&lifecycleMask == stateComplete {
			return false
		}
		if s.word.CompareAndSwap(old, old|counted) {
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

// detach records that nobody will take the result. Unless the task is complete, it also gives up
// the handle's reference. It returns the word before. Of detach and complete, the later one sees
// the effect of the other, and its caller releases the result.
func (s *state) detach() uint64 {
	for {
		old := s.word.Load()
		if old&lifecycleMask == stateComplete || s.word.CompareAndSwap(old, (old|detached)-oneRef) {
			return old
		}
	}
}

// unref gives up a reference, and reports whether it was the last one.
func (s *state) unref() bool {
	word := s.word.Add(^uint64(oneRef - 1))
	return word>>40 == 0
}

// shield defers cancellation until unshield is called as often; at most 255 deep.
func (s *state) shield() {
	if s.word.Load()&shieldMask == shieldMask {
		panic("sched: more than 255 shields in one another")
	}
	s.word.Add(oneShield)
}

// unshield ends one shield. It reports whether the task has a context and is due to end now.
func (s *state) unshield() (ends bool) {
	if s.word.Load()&shieldMask == 0 {
		panic("sched: more shields lowered than raised")
	}
	word := s.word.Add(^uint64(oneShield - 1))
	return word&contexted != 0 && dueToEnd(word)
}

// addContext notes that the task of that generation has a context, and reports whether it is due
// to end. If that task has ended, it has no effect.
func (s *state) addContext(generation uint64) (due bool) {
	for {
		old := s.word.Load()
		if (old^generation)&generationMask != 0 || old&lifecycleMask == stateComplete {
			return false
		}
		if s.word.CompareAndSwap(old, old|contexted) {
			return dueToEnd(old)
		}
	}
}

// endsContext reports whether the task has a context and is due to end. It is called
// after cancel, with the same generation.
func (s *state) endsContext(generation uint64) bool {
	word := s.word.Load()
	return (word^generation)&generationMask == 0 && word&contexted != 0 && dueToEnd(word)
}
