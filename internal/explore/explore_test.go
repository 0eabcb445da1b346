package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/explore"
)

type word = explore.Word[int32]

// stores is a scenario of two threads that write three times each.
func stores(to func(thread int) int) func(x *explore.Execution) {
	return func(x *explore.Execution) {
		var words [2]word
		for i, name := range []string{"one", "two"} {
			x.Go(name, func() {
				for range 3 {
					words[to(i)].Store(int32(i))
				}
			})
		}
	}
}

func TestEveryOrderOfWhatDoesNotCommuteIsVisited(t *testing.T) {
	same := func(int) int { return 0 }
	r := explore.Run(explore.Options{Preemptions: explore.Unbounded}, stores(same))
	require.Empty(t, r.Failure)
	require.Equal(t, 20, r.Schedules, "6 over 3")
}

func TestOrdersOfWhatCommutesCountAsOne(t *testing.T) {
	own := func(thread int) int { return thread }
	r := explore.Run(explore.Options{Preemptions: explore.Unbounded}, stores(own))
	require.Empty(t, r.Failure)
	require.Equal(t, 1, r.Schedules)
}

// The first thread is one of two. It may be preempted before any of its later steps, and so may
// the second one if it runs after that.
func TestPreemptionsAreBounded(t *testing.T) {
	own := func(thread int) int { return thread }
	for most, want := range []int{2, 2 + 2*3} {
		r := explore.Run(explore.Options{Preemptions: most}, stores(own))
		require.Empty(t, r.Failure)
		require.Equal(t, want, r.Schedules)
	}
}

func lostUpdate(x *explore.Execution) {
	var n word
	add := func() { n.Store(n.Load() + 1) }
	x.Go("one", add)
	x.Go("two", add)
	x.Finally(func() { x.Require(n.Load() == 2, "an increment was lost") })
}

func TestALostUpdateIsFoundWithItsSchedule(t *testing.T) {
	require.Empty(t, explore.Run(explore.Options{}, lostUpdate).Failure, "it needs a preemption")
	for _, most := range []int{1, 2, explore.Unbounded} {
		r := explore.Run(explore.Options{Preemptions: most}, lostUpdate)
		require.Contains(t, r.Failure, explore.Failed+"an increment was lost")
		require.Regexp(t, `one +explore_test.go:\d+ +add := .* \| Load = 0x0`, r.Failure)
		require.Regexp(t, `two +explore_test.go:\d+ +add := .* \| Store 0x1`, r.Failure)
	}
}

func TestADeadlockIsFound(t *testing.T) {
	scenario := func(x *explore.Execution) {
		var a, b explore.Mutex
		both := func(first, second *explore.Mutex) func() {
			return func() {
				first.Lock()
				defer first.Unlock()
				second.Lock()
				defer second.Unlock()
			}
		}
		x.Go("one", both(&a, &b))
		x.Go("two", both(&b, &a))
	}
	for _, most := range []int{1, explore.Unbounded} {
		r := explore.Run(explore.Options{Preemptions: most}, scenario)
		require.Contains(t, r.Failure, "deadlock: one waits for: Lock, two waits for: Lock")
	}
}

// waiter is a thread that waits for a flag that may never be set.
func waiter(wait func(x *explore.Execution, what string, at *bool, condition func() bool, f func()), sets bool) func(*explore.Execution) {
	return func(x *explore.Execution) {
		var flag, passed bool
		x.Go("waiter", func() {
			wait(x, "the flag", &flag, func() bool { return flag }, nil)
			passed = true
		})
		x.Go("setter", func() {
			if sets {
				explore.Step(x, "sets the flag", &flag, func() { flag = true })
			}
		})
		x.Finally(func() { x.Require(passed == sets, "passed: %v", passed) })
	}
}

func TestAWaitEndsAndARestNeedNot(t *testing.T) {
	for _, most := range []int{0, 2, explore.Unbounded} {
		o := explore.Options{Preemptions: most}
		require.Empty(t, explore.Run(o, waiter(explore.Wait[bool], true)).Failure)
		require.Empty(t, explore.Run(o, waiter(explore.Rest[bool], true)).Failure)
		require.Empty(t, explore.Run(o, waiter(explore.Rest[bool], false)).Failure)
		require.Contains(t, explore.Run(o, waiter(explore.Wait[bool], false)).Failure, "deadlock: waiter waits for: the flag")
	}
}

// spin waits for two other threads by trying again and again.
func spin(try func(x *explore.Execution)) func(*explore.Execution) {
	return func(x *explore.Execution) {
		var n word
		x.Go("spins", func() {
			for n.Load() < 2 {
				try(x)
			}
		})
		x.Go("one", func() { n.Add(1) })
		x.Go("two", func() { n.Add(1) })
	}
}

func TestALoopThatYieldsIsFiniteAndOneThatDoesNotIsALivelock(t *testing.T) {
	o := explore.Options{Preemptions: 2, Steps: 100}
	require.Empty(t, explore.Run(o, spin((*explore.Execution).Yield)).Failure)
	require.Contains(t, explore.Run(o, spin(func(*explore.Execution) {})).Failure, "no end after 100 steps")
}

// Plain memory that a thread reads after a load may have changed since.
func TestPlainMemoryIsReadLaterThanTheWordThatGuardsIt(t *testing.T) {
	scenario := func(x *explore.Execution) {
		var guard word
		data := 1
		x.Go("reader", func() {
			if guard.Load() == 0 {
				x.Require(data == 1, "read too late")
			}
		})
		x.Go("writer", func() {
			guard.Store(1)
			data = 2
		})
	}
	require.Empty(t, explore.Run(explore.Options{Preemptions: 3}, scenario).Failure)
	require.Contains(t, explore.Run(explore.Options{Preemptions: 3, Plain: true}, scenario).Failure, "read too late")
}

func TestWhatHoldsAlwaysIsCheckedAfterEachStep(t *testing.T) {
	scenario := func(x *explore.Execution) {
		var n word
		x.Go("one", func() {
			n.Add(1)
			n.Add(-1)
		})
		x.Always(func() { x.Require(n.Load() == 0, "not zero") })
	}
	require.Contains(t, explore.Run(explore.Options{}, scenario).Failure, "not zero")
}

func TestAPanicOfAThreadIsAFailure(t *testing.T) {
	r := explore.Run(explore.Options{}, func(x *explore.Execution) { x.Go("one", func() { panic("oh") }) })
	require.Contains(t, r.Failure, "panic: oh")
}

func TestOutsideOfThreadsTheShimsActPlainly(t *testing.T) {
	var w explore.Word[uint32]
	w.Store(6)
	require.EqualValues(t, 5, w.Add(^uint32(0)))
	require.EqualValues(t, 5, w.And(4))
	require.EqualValues(t, 4, w.Or(1))
	require.EqualValues(t, 5, w.Swap(2))
	require.False(t, w.CompareAndSwap(1, 3))
	require.True(t, w.CompareAndSwap(2, 3))
	require.EqualValues(t, 3, w.Load())

	var n explore.Word[int32]
	require.EqualValues(t, -1, n.Add(-1))
	require.True(t, n.CompareAndSwap(-1, 0))

	a, b := new(int), new(int)
	var p explore.Pointer[int]
	p.Store(a)
	require.Same(t, a, p.Swap(b))
	require.True(t, p.CompareAndSwap(b, nil))
	require.Nil(t, p.Load())

	var m explore.Mutex
	for range 2 { // the second unlock finds it unlocked
		func() {
			m.Lock()
			defer m.Unlock()
		}()
	}
}
