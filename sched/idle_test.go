package sched

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
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

// Each worker is claimed once, and the count of searchers returns to 0.
func TestClaimsAtOnceAgree(t *testing.T) {
	const workers = 6
	n := 20_000
	if Slow || testing.Short() {
		n /= 10
	}
	s := new(idleState)
	s.init(workers)
	var woken [workers]atomic.Int32
	var stop atomic.Bool
	var all, claimers sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for !stop.Load() {
				s.park(i, false)
				runtime.Gosched()
				if s.unpark(i) {
					for woken[i].Load() == 0 {
						runtime.Gosched()
					}
					if got := woken[i].Swap(0); got != 1 {
						t.Errorf("claimed %d times", got)
					}
					s.stopSearch()
				}
			}
		})
	}
	for range 3 {
		claimers.Go(func() {
			for range n {
				if i := s.claim(); i >= 0 {
					woken[i].Add(1)
				}
				if got := s.searching.Load(); got < 0 || got > 1 {
					t.Errorf("%d search", got)
				}
				if testing.Short() {
					runtime.Gosched()
				}
			}
		})
	}
	claimers.Wait()
	stop.Store(true)
	all.Wait()
	require.Zero(t, s.searching.Load())
}
