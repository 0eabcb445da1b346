package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
		{"who ends an idle one takes it", 1<<40 | stateIdle, 1<<40 | stateRunning, (*state).seize, true},
		{"and keeps one that is scheduled", 1<<40 | stateScheduled, 2<<40 | stateRunning, (*state).seize, true},
		{"unless nobody else knows it", 1<<40 | stateScheduled, 1<<40 | stateRunning, (*state).seizeNew, true},
		{"one that runs is left alone", stateRunning, stateRunning, (*state).seize, false},
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
