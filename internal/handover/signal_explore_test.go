//go:build explore

package handover

import (
	"math"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A turnstile is a task whose turns read what goroutines have stored.
type turnstile struct {
	x      *explorer.Execution
	signal Signal
	woken  bool
	asked  int // requests that are stored
	read   int // as of the last turn
}

// ring is a goroutine that stores a request.
func (m *turnstile) ring() {
	explorer.Step(m.x, "asks", &m.asked, func() { m.asked++ })
	if m.signal.Ring() {
		m.wake()
	}
}

func (m *turnstile) wake() {
	explorer.Step(m.x, "wakes", &m.woken, func() { m.woken = true })
}

// task takes a turn whenever it is woken; roused: its runs begin with other signals.
func (m *turnstile) task(roused bool) {
	for {
		explorer.Rest(m.x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
		if roused {
			m.signal.Rouse()
		}
		for again := true; again; {
			m.signal.Look()
			m.signal.Rouse()
			explorer.Step(m.x, "reads", &m.asked, func() { m.read = m.asked })
			again = m.signal.Rest()
		}
	}
}

// ringing explores a task and goroutines that store so many requests each; count is that of the
// rings before, if there were any.
func ringing(t *testing.T, count uint32, roused bool, rings ...int) {
	t.Helper()
	preemptions := explorer.Unbounded
	if len(rings) > 1 {
		preemptions = 3
	}
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		m := &turnstile{x: x}
		m.signal.changed.Store(count)
		m.signal.seen, m.signal.rung = count, count != 0
		asked := 0
		x.Go("task", func() { m.task(roused) })
		for i, n := range rings {
			asked += n
			x.Go(string(rune('a'+i)), func() {
				for range n {
					m.ring()
				}
			})
		}
		if roused {
			x.Go("signal", m.wake)
		}
		x.Finally(func() {
			x.Require(m.read == asked, "%d requests of %d were read: a wake-up was lost", m.read, asked)
		})
	})
}

// A turn reads each request that is stored before a ring.
func TestExploreASignalThatOneGoroutineRings(t *testing.T) {
	t.Run("for the first time", func(t *testing.T) { ringing(t, 0, false, 3) })
	t.Run("again", func(t *testing.T) { ringing(t, 7, false, 3) })
}

func TestExploreASignalThatTwoGoroutinesRing(t *testing.T) {
	t.Run("for the first time", func(t *testing.T) { ringing(t, 0, false, 2, 2) })
	t.Run("again", func(t *testing.T) { ringing(t, 7, false, 2, 2) })
}

// At the wrap the count is 0 again, as if nobody had rung.
func TestExploreASignalWhoseCountWraps(t *testing.T) {
	ringing(t, math.MaxUint32, true, 3)
}
