package membudget

import "testing"

type waker int

func (w *waker) Wake() { *w++ }

func TestWaitersAreWokenInOrderWhenThereIsMemory(t *testing.T) {
	b := Budget{Max: 100} // tight above 75
	var c Usage
	var places [3]Waiter
	var woken [3]waker
	await := func(i int) bool { return b.Await(&places[i], &woken[i]) }
	b.Set(&c, 70, 5)
	if b.UnderPressure() || !await(0) || b.Queued(&places[0]) {
		t.Fatal("75 of 100 bytes leave no room")
	}
	b.Set(&c, 70, 6)
	for i := range places {
		again := await(i)
		if await(i) || again || !b.Queued(&places[i]) {
			t.Fatalf("%d does not wait", i)
		}
	}
	if b.WakeNext() || woken != [3]waker{} {
		t.Fatal("somebody is woken, or reset, although peers may take what is unsent")
	}
	b.Cancel(&places[1])
	b.Sent(&c, 1)
	if b.WakeNext() || woken != [3]waker{1} || b.Queued(&places[0]) {
		t.Fatalf("woken: %v", woken)
	}
	b.WakeNext()
	b.WakeNext()
	if woken != [3]waker{1, 0, 1} {
		t.Fatalf("woken: %v", woken)
	}
}

func TestAConnectionIsResetWhenWaitingWouldNotHelp(t *testing.T) {
	for name, c := range map[string]struct {
		unsent, unread, kept int
		shed                 bool
	}{
		"nothing is unsent":                     {0, 76, 0, true},
		"peers may take what is unsent":         {1, 76, 0, false},
		"goroutines may read":                   {0, 75, 1, false},
		"goroutines' reads would not be enough": {0, 76, 1, true},
		"only goroutines hold anything":         {0, 0, 90, false},
		"there is memory":                       {0, 75, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := Budget{Max: 100}
			var usage Usage
			var p Waiter
			var w waker
			b.Set(&usage, 100, 0)
			b.Await(&p, &w)
			b.Set(&usage, c.unsent, c.unread)
			b.SetForGoroutines(&usage, c.kept)
			if b.WakeNext() != c.shed {
				t.Errorf("reset: %v", !c.shed)
			}
		})
	}
}

func TestNoConnectionIsResetWithoutWaiters(t *testing.T) {
	b := Budget{Max: 100}
	var c Usage
	b.Set(&c, 0, 99)
	if b.WakeNext() || b.Full() {
		t.Error("a connection goes below the bound")
	}
	b.SetForGoroutines(&c, 200)
	if b.Full() || b.Buffered() != 299 || b.Own() != 99 {
		t.Error("what goroutines hold resets somebody")
	}
	if b.Set(&c, 1, 99); !b.Full() {
		t.Error("the bound is not reached")
	}
}

func TestBytesOfAResetConnectionDoNotCount(t *testing.T) {
	b := Budget{Max: 100}
	var c, other Usage
	b.Set(&c, 30, 30)
	b.SetForGoroutines(&c, 30)
	b.Set(&other, 5, 0)
	if c.Own() != 60 || other.Own() != 5 {
		t.Error("a usage forgets")
	}
	b.Shed(&c)
	b.Set(&c, 50, 50)
	if b.SetForGoroutines(&c, 10); b.Buffered() != 5 || c.Own() != 0 {
		t.Errorf("%d bytes are left", b.Buffered())
	}
}

func TestSetForGoroutinesReportsWhetherGoroutinesRead(t *testing.T) {
	b := Budget{Max: 100}
	var c Usage
	if b.SetForGoroutines(&c, 0) || b.SetForGoroutines(&c, 8) || b.SetForGoroutines(&c, 8) || !b.SetForGoroutines(&c, 7) {
		t.Error("it does not")
	}
}

// A run may flush and not end, so that bytes are sent before a run has counted them.
func TestBytesSentBeforeTheyAreCountedAreNotSubtractedFromOthers(t *testing.T) {
	b := Budget{Max: 100}
	var early, other Usage
	b.Set(&other, 10, 80)
	b.Sent(&early, 10)
	if b.Buffered() != 90 {
		t.Errorf("%d bytes are buffered, not 90", b.Buffered())
	}
	var p Waiter
	var w waker
	if b.Await(&p, &w) || b.WakeNext() {
		t.Error("a connection is reset although a peer may take what is unsent")
	}
	b.Set(&early, 5, 0)
	if b.Buffered() != 95 {
		t.Errorf("%d bytes are buffered, not 95", b.Buffered())
	}
}
