//go:build explore

package admission

import (
	"net/netip"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A door is limits, the listeners that admit by them, and the connections that leave.
type door struct {
	x      *explorer.Execution
	limits Limits
	open   int // connections that were admitted and have not begun to leave
	served int // connections that were admitted in all
}

// A listener is a task that has one connection to admit.
type listener struct {
	*door
	source netip.Addr
	place  Place
	woken  bool
	closed bool // it is to end without a connection
}

func (l *listener) Wake() {
	explorer.Step(l.x, "wakes", &l.woken, func() { l.woken = true })
}

// run admits one connection as a listener does: it looks for room first, and sleeps if there
// is none.
func (l *listener) run() {
	for {
		if l.stops() {
			l.limits.Withdraw(&l.place)
			return
		}
		if l.limits.Await(&l.place, l) && l.admit() {
			return
		}
		explorer.Rest(l.x, "sleeps", &l.woken, func() bool { return l.woken }, func() { l.woken = false })
	}
}

func (l *listener) stops() (stops bool) {
	explorer.Step(l.x, "looks", &l.closed, func() { stops = l.closed })
	return stops
}

// admit tries for as long as there seems to be room: another listener may be quicker.
func (l *listener) admit() bool {
	for {
		switch v := l.limits.Admit(l.source); v {
		case Admitted:
			explorer.Step(l.x, "opens", &l.open, func() {
				l.open++
				l.served++
				l.x.Require(l.open <= l.limits.Most, "%d are open", l.open)
			})
			return true
		case Later:
			if !l.limits.Await(&l.place, l) {
				return false
			}
		default:
			l.x.Require(false, "verdict %v", v)
		}
	}
}

// leave ends one connection of that source that was admitted.
func (d *door) leave(source netip.Addr) {
	explorer.Rest(d.x, "is open", &d.open, func() bool { return d.open > 0 }, func() { d.open-- })
	d.limits.Leave(source)
}

// admitting explores listeners with one connection each. All but the last connection leave.
func admitting(t *testing.T, preemptions, most, listeners int, source netip.Addr) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		d := &door{x: x, limits: Limits{Most: most, Waits: true}}
		if source.IsValid() {
			d.limits.PerSource = listeners
		}
		for i := range listeners {
			l := &listener{door: d, source: source}
			x.Go(string(rune('a'+i)), l.run)
		}
		x.Go("ends", func() {
			for range listeners - most {
				d.leave(source)
			}
		})
		x.Finally(func() {
			x.Require(d.served == listeners, "%d of %d were admitted: a wake-up was lost", d.served, listeners)
			n := d.limits.all.Load()
			x.Require(n == int64(most), "%d are counted", n)
			x.Require(d.limits.sources[source] == most || !source.IsValid(), "%d of the source", d.limits.sources[source])
		})
	})
}

// Each listener admits its connection in the end, and there are never more than the limit.
func TestExploreListenersThatWaitForRoom(t *testing.T) {
	t.Run("two", func(t *testing.T) { admitting(t, 4, 1, 2, netip.Addr{}) })
	t.Run("two, of a source", func(t *testing.T) { admitting(t, 3, 1, 2, netip.IPv6Unspecified()) })
	t.Run("three", func(t *testing.T) { admitting(t, 2, 1, 3, netip.Addr{}) })
	t.Run("three, two at a time", func(t *testing.T) { admitting(t, 2, 2, 3, netip.Addr{}) })
}

// A listener may be woken and close: the others have the room.
func TestExploreAListenerThatCloses(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		d := &door{x: x, limits: Limits{Most: 1, Waits: true}}
		x.Require(d.limits.Admit(netip.Addr{}) == Admitted, "there is no room for the first")
		d.open = 1
		a, b := &listener{door: d}, &listener{door: d}
		x.Go("a", a.run)
		x.Go("b", b.run)
		x.Go("close of a", func() {
			explorer.Step(x, "closes", &a.closed, func() { a.closed = true })
			a.Wake()
		})
		x.Go("ends", func() { d.leave(netip.Addr{}) })
		x.Finally(func() {
			x.Require(d.served == 1, "nobody was admitted: a wake-up was lost")
			x.Require(!a.place.node.Listed(), "one that has closed waits")
		})
	})
}

// Three listeners wait, one more than a batch has, and one connection leaves. Whichever listener
// has the room, all of them look: the last one may be the only one that does not close.
func TestExploreABatchOfListenersAndOneMore(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 1}, func(x *explorer.Execution) {
		d := &door{x: x, limits: Limits{Most: 1, Waits: true}}
		x.Require(d.limits.Admit(netip.Addr{}) == Admitted, "there is no room for the first")
		d.open = 1
		var all [3]*listener
		for i := range all {
			all[i] = &listener{door: d, closed: i < 2}
			x.Require(!d.limits.Await(&all[i].place, all[i]), "there is room")
			x.Go(string(rune('a'+i)), func() {
				explorer.Rest(x, "sleeps", &all[i].woken, func() bool { return all[i].woken }, func() { all[i].woken = false })
				all[i].run()
			})
		}
		x.Go("ends", func() { d.leave(netip.Addr{}) })
		x.Finally(func() { x.Require(d.served == 1, "nobody was admitted: a wake-up was lost") })
	})
}
