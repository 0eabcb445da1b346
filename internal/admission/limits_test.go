package admission

import (
	"net/netip"
	"testing"
	"time"

	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/patience"
)

type waker int

func (w *waker) Wake() { *w++ }

var (
	one   = netip.MustParseAddr("192.0.2.1")
	other = netip.MustParseAddr("192.0.2.2")
	none  netip.Addr
)

// admits checks what becomes of connections of these sources, one after the other.
func admits(t *testing.T, l *Limits, want Verdict, sources ...netip.Addr) {
	t.Helper()
	for i, source := range sources {
		if got := l.Admit(source); got != want {
			t.Fatalf("connection %d of %v: %v, not %v", i, source, got, want)
		}
	}
}

func TestWithoutLimitsAllAreAdmittedAndNobodyWaits(t *testing.T) {
	var l Limits
	var p Place
	var w waker
	admits(t, &l, Admitted, one, one, other, none)
	if l.Bounded() || !l.Await(&p, &w) {
		t.Error("a listener waits")
	}
	l.Withdraw(&p)
	l.Leave(one)
	if w != 0 || l.sources != nil || l.all.Load() != 0 {
		t.Error("something is counted")
	}
}

func TestAtTheLimitConnectionsAreRefusedOrWait(t *testing.T) {
	for _, c := range []struct {
		waits bool
		want  Verdict
	}{{false, Refused}, {true, Later}} {
		l := Limits{Most: 2, Waits: c.waits}
		var p Place
		var w waker
		admits(t, &l, Admitted, one, none)
		admits(t, &l, c.want, one, other)
		if l.Await(&p, &w) == c.waits || l.Bounded() != c.waits {
			t.Errorf("waits: %v, and a listener does not", c.waits)
		}
		l.Leave(none)
		if woken := w != 0; woken != c.waits || !l.Await(&p, &w) {
			t.Errorf("waits: %v, woken: %v", c.waits, woken)
		}
		admits(t, &l, Admitted, other)
		admits(t, &l, c.want, other)
	}
}

func TestTheLimitOfASourceIsThatOfNoOther(t *testing.T) {
	l := Limits{PerSource: 2, Waits: true}
	admits(t, &l, Admitted, one, one, other, none, none, none)
	admits(t, &l, RefusedSource, one)
	l.Leave(one)
	admits(t, &l, Admitted, one, other)
	admits(t, &l, RefusedSource, one, other)
	for _, source := range []netip.Addr{one, one, other, other, none, none, none} {
		l.Leave(source)
	}
	if len(l.sources) != 0 {
		t.Errorf("%d sources are remembered", len(l.sources))
	}
}

// A connection for which there is no room in all counts nothing for its source.
func TestOneThatWaitsIsNotCountedForItsSource(t *testing.T) {
	l := Limits{Most: 1, PerSource: 1, Waits: true}
	admits(t, &l, Admitted, one)
	admits(t, &l, Later, other, other)
	admits(t, &l, RefusedSource, one)
	l.Leave(one)
	admits(t, &l, Admitted, other)
}

func TestAllThatWaitAreWokenOnceAndWhoHasWithdrawnIsNot(t *testing.T) {
	l := Limits{Most: 1, Waits: true}
	admits(t, &l, Admitted, none)
	var places [3]Place
	var woken [3]waker
	for range 2 {
		for i := range places {
			if l.Await(&places[i], &woken[i]) {
				t.Fatal("there is room")
			}
		}
	}
	l.Withdraw(&places[1])
	l.Leave(none)
	l.Withdraw(&places[0])
	admits(t, &l, Admitted, none)
	l.Leave(none)
	if woken != [3]waker{1, 0, 1} {
		t.Errorf("woken: %v", woken)
	}
}

// A busy listener uses the limits while it is woken, as one on another processor may.
type busy struct {
	limits *Limits
	place  Place
	woken  int
}

func (b *busy) Wake() {
	b.woken++
	b.limits.Withdraw(&b.place)
}

func TestNobodyIsWokenUnderTheLock(t *testing.T) {
	l := Limits{Most: 1, Waits: true}
	admits(t, &l, Admitted, none)
	all := make([]busy, 2*list.Batch+1)
	for i := range all {
		all[i].limits = &l
		l.Await(&all[i].place, &all[i])
	}
	left := make(chan struct{})
	go func() {
		l.Leave(none)
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(patience.Limit):
		t.Fatal("Leave holds the lock while it wakes")
	}
	for i := range all {
		if all[i].woken != 1 {
			t.Errorf("listener %d was woken %d times", i, all[i].woken)
		}
	}
}

// One that waits again while others are woken is not woken by the same Leave.
type stubborn struct{ busy }

func (s *stubborn) Wake() {
	s.woken++
	s.limits.all.Store(1) // another listener was quicker
	s.limits.Await(&s.place, s)
}

func TestOneThatWaitsAgainIsWokenOnce(t *testing.T) {
	l := Limits{Most: 1, Waits: true}
	admits(t, &l, Admitted, none)
	all := make([]stubborn, list.Batch+1)
	for i := range all {
		all[i].limits = &l
		l.Await(&all[i].place, &all[i])
	}
	l.Leave(none)
	for i := range all {
		if all[i].woken != 1 {
			t.Errorf("listener %d was woken %d times", i, all[i].woken)
		}
	}
}
