package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The looks of a runtime without work end after a time, whatever the time between two of them.
func TestTheLooksEndAfterTheirTimeWithoutWork(t *testing.T) {
	rt := New(Config{Workers: 1, Spares: 1})
	rt.idle.park(0, false)
	s := &rt.slow
	looks := func() (n int) {
		for n = 1; !s.mayRest(); n++ {
		}
		s.resting.Store(0)
		return n
	}
	require.Equal(t, int(minIdleTime/lookWhileCalm), looks())
	rt.spares.lastStuck = rt.Now() + calmAfter // since then the looks are closer to each other
	require.Equal(t, int(minIdleTime/lookForStuck), looks())
}
