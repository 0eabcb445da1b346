package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func onIdleStates(t *testing.T, test func(t *testing.T, s *idleState, workers int)) {
	for _, workers := range []int{1, 2, 3, 4, 63, 64, 65, 200} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			s := new(idleState)
			s.init(workers)
			test(t, s, workers)
		})
	}
}

// A worker is claimed only if no other one searches.
func TestOneWorkerIsClaimedWhileNobodySearches(t *testing.T) {
	onIdleStates(t, func(t *testing.T, s *idleState, workers int) {
		require.Equal(t, -1, s.claim(), "nobody is parked")
		require.Zero(t, s.searching.Load())
		for i := range workers {
			require.False(t, s.isParked(i))
			s.park(i, false)
			require.True(t, s.isParked(i))
		}
		require.Equal(t, workers, s.parked())
		claimed := map[int]bool{}
		for n := range workers {
			i := s.claim()
			require.GreaterOrEqual(t, i, 0)
			require.False(t, claimed[i], "twice")
			claimed[i] = true
			require.EqualValues(t, 1, s.searching.Load())
			for range 3 {
				require.Equal(t, -1, s.claim(), "one searches")
			}
			require.False(t, s.isParked(i))
			require.True(t, s.unpark(i), "it learns that it was claimed")
			require.Equal(t, workers-n-1, s.parked())
			require.True(t, s.stopSearch(), "the last one")
		}
		require.Equal(t, -1, s.claim())
		require.False(t, s.anyParked())
	})
}

func TestAtMostHalfOfTheWorkersSearch(t *testing.T) {
	onIdleStates(t, func(t *testing.T, s *idleState, workers int) {
		searching := 0
		for range workers {
			if s.startSearch() {
				searching++
			}
		}
		require.Equal(t, max(1, workers/2), searching)
		require.EqualValues(t, searching, s.searching.Load())
		for ; searching > 0; searching-- {
			require.Equal(t, searching == 1, s.stopSearch())
		}
	})
}

func TestAWorkerThatWakesByItselfWasNotClaimed(t *testing.T) {
	onIdleStates(t, func(t *testing.T, s *idleState, workers int) {
		require.True(t, s.startSearch())
		s.park(workers-1, true)
		require.Zero(t, s.searching.Load(), "parking ends the search")
		require.False(t, s.unpark(workers-1))
		require.Equal(t, -1, s.claim())
	})
}
