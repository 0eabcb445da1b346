package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const wakersInModel = 3

// A taskModel is a task, the worker that runs it and some goroutines that wake
// it, between two steps. Each method of state takes effect in one atomic
// operation (the compare-and-swap that succeeds, or the load that says there is
// nothing to do), so calls are the steps.
type taskModel struct {
	word      uint64
	queued    int // entries in the worker's queue
	published int // what the wakers have to tell
	told      int // how much of it a run has seen
	runs      int
	worker    taskStep
	wakers    [wakersInModel]wakerStep
}

type taskStep int

const (
	workerIdle taskStep = iota
	workerStarted
	workerLooked
	workerMustQueue
)

type wakerStep int

const (
	wakerPublishes wakerStep = iota
	wakerWakes
	wakerMustQueue
	wakerEnded
)

func (m taskModel) with(f func(s *state)) taskModel {
	var s state
	s.word.Store(m.word)
	f(&s)
	m.word = s.word.Load()
	return m
}

// steps are the states after one step of anyone. A task that is done after its
// first runs completes after that many.
func (m taskModel) steps(doneAfter int) (all []taskModel) {
	for i, at := range m.wakers {
		next := m
		switch at {
		case wakerPublishes:
			next.published++
			next.wakers[i] = wakerWakes
		case wakerWakes:
			next = m.with(func(s *state) {
				if s.wake(0) {
					at = wakerMustQueue
				} else {
					at = wakerEnded
				}
			})
			next.wakers[i] = at
		case wakerMustQueue:
			next.queued++
			next.wakers[i] = wakerEnded
		default:
			continue
		}
		all = append(all, next)
	}
	next := m
	switch m.worker {
	case workerIdle:
		if m.queued == 0 {
			return all
		}
		next = m.with(func(s *state) { s.start() })
		next.queued--
		next.runs++
		next.worker = workerStarted
	case workerStarted:
		next.told = m.published
		next.worker = workerLooked
	case workerLooked:
		next = m.with(func(s *state) {
			switch {
			case m.runs == doneAfter:
				s.complete()
				m.worker = workerIdle
			case s.suspend():
				m.worker = workerMustQueue
			default:
				m.worker = workerIdle
			}
		})
		next.worker = m.worker
	case workerMustQueue:
		next.queued++
		next.worker = workerIdle
	}
	return append(all, next)
}

func TestNoInterleavingLosesAWakeOrQueuesATaskTwice(t *testing.T) {
	for _, doneAfter := range []int{0, 1, 2, 3} {
		t.Run(fmt.Sprintf("done after %d runs", doneAfter), func(t *testing.T) {
			next := func(m taskModel) []taskModel { return m.steps(doneAfter) }
			wrong := func(m taskModel, atRest bool) bool {
				done := m.word&lifecycleMask == stateComplete
				return m.queued > 1 ||
					m.runs > wakersInModel ||
					done && m.queued > 0 ||
					atRest && !done && (m.told != wakersInModel || m.word != stateIdle) ||
					atRest && done && m.runs != doneAfter
			}
			require.Empty(t, explore(t, taskModel{}, next, wrong))
		})
	}
}

// A suspend that looks at notified and clears running in two steps would lose
// the wake between them: the explorer must notice.
func TestTheExplorerFindsALostWake(t *testing.T) {
	next := func(m taskModel) []taskModel {
		all := m.steps(0)
		if m.worker == workerLooked && m.word&notified == 0 {
			// As if the look had been some time ago.
			late := m
			late.word, late.worker = stateIdle, workerIdle
			for i := range m.wakers {
				if m.wakers[i] == wakerWakes {
					between := late
					between.wakers[i] = wakerEnded
					all = append(all, between)
				}
			}
		}
		return all
	}
	wrong := func(m taskModel, atRest bool) bool { return atRest && m.told != wakersInModel }
	require.NotEmpty(t, explore(t, taskModel{}, next, wrong))
}

func TestStateTransitions(t *testing.T) {
	for _, c := range []struct {
		name        string
		from, to    uint64
		do          func(s *state) bool
		mustEnqueue bool
	}{
		{"a wake schedules an idle task", stateIdle, stateScheduled, func(s *state) bool { return s.wake(0) }, true},
		{"one that is scheduled stays so", stateScheduled, stateScheduled, func(s *state) bool { return s.wake(0) }, false},
		{"a running one is notified", stateRunning, stateRunning | notified, func(s *state) bool { return s.wake(0) }, false},
		{"once", stateRunning | notified, stateRunning | notified, func(s *state) bool { return s.wake(0) }, false},
		{"a complete one is left alone", stateComplete, stateComplete, func(s *state) bool { return s.wake(0) }, false},
		{"suspend without a wake", stateRunning, stateIdle, (*state).suspend, false},
		{"suspend after a wake", stateRunning | notified, stateScheduled, (*state).suspend, true},
		{"other bits are kept", 5<<40 | 3<<32 | 9 | stateRunning | notified, 5<<40 | 3<<32 | 9 | stateScheduled, (*state).suspend, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s state
			s.word.Store(c.from)
			require.Equal(t, c.mustEnqueue, c.do(&s))
			require.Equal(t, c.to, s.word.Load())
		})
	}
}
