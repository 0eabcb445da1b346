package ledger

import "testing"

type waker int

func (w *waker) Wake() { *w++ }

func TestWhoWaitsIsWokenInOrderWhenThereIsMemory(t *testing.T) {
	l := Ledger{Max: 100} // tight above 75
	var c Charge
	var places [3]Place
	var woken [3]waker
	await := func(i int) bool { return l.Await(&places[i], &woken[i]) }
	l.Book(&c, 70, 5)
	if l.Tight() || !await(0) || l.Waits(&places[0]) {
		t.Fatal("75 of 100 bytes leave no room")
	}
	l.Book(&c, 70, 6)
	for i := range places {
		again := await(i)
		if await(i) || again || !l.Waits(&places[i]) {
			t.Fatalf("%d does not wait", i)
		}
	}
	if l.PassOn() || woken != [3]waker{} {
		t.Fatal("somebody is woken, or reset, although peers may take what is unsent")
	}
	l.Leave(&places[1])
	l.Sent(&c, 1)
	if l.PassOn() || woken != [3]waker{1} || l.Waits(&places[0]) {
		t.Fatalf("woken: %v", woken)
	}
	l.PassOn()
	l.PassOn()
	if woken != [3]waker{1, 0, 1} {
		t.Fatalf("woken: %v", woken)
	}
}

func TestAConnectionGoesWhenWaitingWouldNotHelp(t *testing.T) {
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
			l := Ledger{Max: 100}
			var charge Charge
			var p Place
			var w waker
			l.Book(&charge, 100, 0)
			l.Await(&p, &w)
			l.Book(&charge, c.unsent, c.unread)
			l.Keep(&charge, c.kept)
			if l.PassOn() != c.shed {
				t.Errorf("reset: %v", !c.shed)
			}
		})
	}
}

func TestWithoutAnybodyInTheLineNobodyGoes(t *testing.T) {
	l := Ledger{Max: 100}
	var c Charge
	l.Book(&c, 0, 99)
	if l.PassOn() || l.Full() {
		t.Error("a connection goes below the bound")
	}
	l.Keep(&c, 200)
	if l.Full() || l.Buffered() != 299 || l.Own() != 99 {
		t.Error("what goroutines hold resets somebody")
	}
	if l.Book(&c, 1, 99); !l.Full() {
		t.Error("the bound is not reached")
	}
}

func TestWhatIsResetIsAsGoodAsFree(t *testing.T) {
	l := Ledger{Max: 100}
	var c, other Charge
	l.Book(&c, 30, 30)
	l.Keep(&c, 30)
	l.Book(&other, 5, 0)
	if c.Own() != 60 || other.Own() != 5 {
		t.Error("a charge forgets")
	}
	l.Shed(&c)
	l.Book(&c, 50, 50)
	if l.Keep(&c, 10); l.Buffered() != 5 || c.Own() != 0 {
		t.Errorf("%d bytes are left", l.Buffered())
	}
}

func TestKeepSaysWhetherGoroutinesGaveBack(t *testing.T) {
	l := Ledger{Max: 100}
	var c Charge
	if l.Keep(&c, 0) || l.Keep(&c, 8) || l.Keep(&c, 8) || !l.Keep(&c, 7) {
		t.Error("it does not")
	}
}

// A run may flush and not end, so that bytes are sent that no run has booked.
func TestWhatIsSentBeforeItIsBookedIsNotTakenFromOthers(t *testing.T) {
	l := Ledger{Max: 100}
	var early, other Charge
	l.Book(&other, 10, 80)
	l.Sent(&early, 10)
	if l.Buffered() != 90 {
		t.Errorf("%d bytes are buffered, not 90", l.Buffered())
	}
	var p Place
	var w waker
	if l.Await(&p, &w) || l.PassOn() {
		t.Error("a connection is reset although a peer may take what is unsent")
	}
	l.Book(&early, 5, 0)
	if l.Buffered() != 95 {
		t.Errorf("%d bytes are buffered, not 95", l.Buffered())
	}
}
