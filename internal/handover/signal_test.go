package handover

import (
	"math"
	"testing"
)

// turn is a whole turn of a task, which is signaled before it looks. It reports how often it
// looked.
func turn(s *Signal) (looks int) {
	for again := true; again; looks++ {
		s.Rouse()
		s.Look()
		s.Rouse()
		again = s.Rest()
	}
	return looks
}

func TestARingWakesATaskThatRests(t *testing.T) {
	var s Signal
	for i := range 3 {
		if !s.Ring() {
			t.Fatalf("ring %d wakes nobody", i)
		}
		turn(&s)
	}
}

func TestARingDuringATurnWakesNobodyAndIsSeenAtItsEnd(t *testing.T) {
	var s Signal
	s.Ring()
	if !s.Look() {
		t.Fatal("the first ring is not seen")
	}
	s.Rouse()
	if s.Ring() {
		t.Error("the task is woken in its turn")
	}
	if !s.Rest() {
		t.Error("the turn ends without a look at the ring")
	}
	if !s.Look() || s.Rest() || s.Look() {
		t.Error("the ring is not seen once")
	}
}

func TestATurnThatNobodyHasEverRungStoresNothing(t *testing.T) {
	var s Signal
	turn(&s)
	s.Rouse()
	if s != (Signal{}) {
		t.Error("a turn without a ring has changed something")
	}
}

// After 2^32 rings the count is 0 again, as at the beginning.
func TestARingAtWhichTheCountWrapsIsNotTheLastThatWakes(t *testing.T) {
	var s Signal
	s.seen, s.rung = math.MaxUint32, true
	s.changed.Store(math.MaxUint32)
	s.Rouse() // a run begins with a signal
	if s.Ring() {
		t.Fatal("the task is woken in its turn")
	}
	turn(&s)
	if s.changed.Load() != 0 {
		t.Fatal("the count has not wrapped")
	}
	for i := range 3 {
		if !s.Ring() {
			t.Fatalf("ring %d after the wrap wakes nobody", i)
		}
		turn(&s)
	}
}
