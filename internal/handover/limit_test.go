package handover

import "testing"

func never() (room, found bool) { panic("nothing is to enter") }

func empty() (room, found bool) { return true, false }

func TestALimitStopsAtItsNumberAndWakesAtHalfOfIt(t *testing.T) {
	l := Limit{Most: 4}
	for i := range 4 {
		if l.Reached() {
			t.Fatalf("reached at %d", i)
		}
		if wake := l.Arrived(); wake != (i == 3) {
			t.Fatalf("arrival %d wakes: %v", i, wake)
		}
	}
	if !l.Reached() || l.Reopen(never) {
		t.Error("there is room for a fifth")
	}
	for i := range 4 {
		if wake := l.Taken(); wake != (i > 0) {
			t.Fatalf("taking %d wakes: %v", i, wake)
		}
	}
	if !l.Reopen(empty) || !l.Reopen(never) || l.Taken() {
		t.Error("it does not reopen")
	}
}

func TestOfALimitOfOneTheNextEntersWhenItIsTaken(t *testing.T) {
	l := Limit{Most: 1}
	if !l.Arrived() || l.Reopen(never) || !l.Taken() || !l.Reopen(empty) {
		t.Error("one at a time is not what it lets in")
	}
}

// Items that were brought too early enter one by one, as far as there is room for them.
func TestWhatWasBroughtTooEarlyEntersFirst(t *testing.T) {
	l := Limit{}
	left, room := 3, 2
	enter := func() (bool, bool) {
		if room == 0 {
			return false, false
		}
		if left == 0 {
			return true, false
		}
		room, left = room-1, left-1
		return true, true
	}
	l.Stop()
	if l.Reopen(enter) || left != 1 {
		t.Fatalf("%d are left outside", left)
	}
	if room = 2; !l.Reopen(enter) || left != 0 {
		t.Fatalf("%d are left outside", left)
	}
}

func TestWithoutALimitOnlyStopStops(t *testing.T) {
	l := Limit{}
	if l.Reached() || !l.Reopen(never) {
		t.Error("there is a limit")
	}
	l.Stop()
	if !l.Reopen(empty) {
		t.Error("it does not reopen")
	}
}
