package sched

import "sync/atomic"

// The state word of a task:
//
//	bits 40-63  reference count (with recycled tasks; not used yet)
//	bits 32-39  shield depth    (with cancellation; not used yet)
//	bits 24-31  flags
//	bits 16-23  lifecycle
//	bits  0-15  spare
//
// Lifecycle, and who may leave each state:
//
//	idle      → scheduled  whoever wakes the task; that one must queue it
//	scheduled → running    the worker that took it from a queue
//	running   → idle       that worker, if no wake arrived meanwhile
//	running   → scheduled  that worker, if one did; it must queue the task
//	running   → complete   that worker
//
// A wake is never lost: the waker first publishes what it has to tell and then
// looks at the state. Idle: it schedules the task, which will look. Scheduled:
// the task has still to start, and will look then. Running: it may have looked
// already, so notified is set, and the worker cannot leave running for idle
// past that bit, because both go through a compare-and-swap of this word.
const (
	lifecycleMask  = 0xff << 16
	stateIdle      = 0 << 16
	stateScheduled = 1 << 16
	stateRunning   = 2 << 16
	stateComplete  = 3 << 16

	notified = 1 << 24 // a wake arrived while running: run once more
)

type state struct{ word atomic.Uint64 }

// wake notes a wake and reports whether the caller must queue the task.
func (s *state) wake() bool {
	for {
		old := s.word.Load()
		switch old & lifecycleMask {
		case stateIdle:
			if s.word.CompareAndSwap(old, old&^lifecycleMask|stateScheduled) {
				return true
			}
		case stateRunning:
			if old&notified != 0 || s.word.CompareAndSwap(old, old|notified) {
				return false
			}
		default:
			return false
		}
	}
}

// start is the way from scheduled to running.
func (s *state) start() {
	for {
		old := s.word.Load()
		if s.word.CompareAndSwap(old, old&^(lifecycleMask|notified)|stateRunning) {
			return
		}
	}
}

// suspend leaves running. It reports whether a wake arrived meanwhile, in which
// case the task is scheduled and the caller must queue it.
func (s *state) suspend() bool {
	for {
		old := s.word.Load()
		if old&notified != 0 {
			if s.word.CompareAndSwap(old, old&^(lifecycleMask|notified)|stateScheduled) {
				return true
			}
		} else if s.word.CompareAndSwap(old, old&^lifecycleMask|stateIdle) {
			return false
		}
	}
}

// complete leaves running for good.
func (s *state) complete() {
	for {
		old := s.word.Load()
		if s.word.CompareAndSwap(old, old&^(lifecycleMask|notified)|stateComplete) {
			return
		}
	}
}
