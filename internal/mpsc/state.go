package mpsc

import "github.com/suiro-go/suiro/internal/atomics"

// A Phase is a process's state.
type Phase uint32

// The phases, and which goroutine makes each change:
//
//	Ready   → Running   the worker that runs the process's task
//	Running → Ready     that worker: the process wants to go on, or a flag is set
//	Running → Blocked   that worker: the process waits for an answer, and answered is not set
//	Running → Idle      that worker: the process waits for messages, and no flag is set
//	Blocked → Ready     the goroutine that has put an answer: it must wake the task
//	Idle    → Ready     the goroutine that has put an answer or a message: it must wake the task
//	Running → Complete  that worker
//
// A worker may also begin a run from Blocked or Idle, if the task was woken for something else,
// such as a timer.
const (
	Ready Phase = iota
	Running
	Blocked
	Idle
	Complete

	phaseMask = 7
)

// The flags are set only while the process runs.
const (
	mailed   = 1 << 3 // a message was put while the process ran
	answered = 1 << 4 // an answer was put while the process ran
)

// A Kind is the kind of an event that was put into the mailbox.
type Kind uint32

// A Message wakes an idle process, an Answer also a blocked one.
const (
	Message Kind = mailed
	Answer  Kind = answered
)

// A State is the state word of a process. The zero value is Ready.
//
// No wake-up is lost. A sender first puts its message and then calls Notify. If it finds the
// process Ready, the run has not begun, and will take the message. If it finds it Running, the
// process may have emptied its mailbox already. So the sender sets a flag, and Settle cannot leave
// Running without seeing it, since both use a compare-and-swap of this word. If it finds the
// process waiting, it changes the word itself, and only one goroutine can.
//
// A message that finds the process Blocked stays in the mailbox until an answer arrives. The next
// sender may then find the mailbox not empty and not call Notify at all. That is safe because a run
// empties the mailbox before it can become Idle.
type State struct{ word atomics.Uint32 }

// Phase is the present phase.
func (s *State) Phase() Phase { return Phase(s.word.Load() & phaseMask) }

// Notify is called after something was put into the mailbox. It reports whether the caller must
// wake the process's task.
func (s *State) Notify(kind Kind) (mustWake bool) {
	for {
		old := s.word.Load()
		next := uint32(Ready)
		switch Phase(old & phaseMask) {
		case Ready, Complete:
			return false
		case Running:
			if next = old | uint32(kind); next == old {
				return false
			}
		case Blocked:
			if kind == Message {
				return false
			}
		}
		if s.word.CompareAndSwap(old, next) {
			return Phase(old&phaseMask) != Running
		}
	}
}

// Begin starts a run, before the run empties the mailbox. Only the task calls it.
func (s *State) Begin() { s.word.Store(uint32(Running)) }

// Settle ends a run. The process has asked for Ready, Blocked or Idle. It reports whether the task
// must run again. Only the task calls it. It may ask for Idle only if the run has emptied the
// mailbox.
func (s *State) Settle(to Phase) (again bool) {
	for {
		old := s.word.Load()
		next := to
		if to == Idle && old&(mailed|answered) != 0 || to == Blocked && old&answered != 0 {
			next = Ready
		}
		if s.word.CompareAndSwap(old, uint32(next)) {
			return next == Ready
		}
	}
}

// Finish makes the process Complete. Only the task calls it.
func (s *State) Finish() { s.word.Store(uint32(Complete)) }
