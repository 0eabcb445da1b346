//go:build explore

package handover

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A gate is a task that brings items, and goroutines that take them.
type gate struct {
	x     *explorer.Execution
	limit Limit
	woken bool
	ready int // brought and not taken
	taken int
	spare int // brought while there was no room: they enter through Reopen
	room  int // that there is besides, for those that enter
}

func (m *gate) wake(told bool) {
	if told {
		explorer.Step(m.x, "wakes", &m.woken, func() { m.woken = true })
	}
}

// bring counts one and makes it ready.
func (m *gate) bring() {
	m.wake(m.limit.Arrived())
	explorer.Step(m.x, "brings", &m.ready, func() { m.ready++ })
}

func (m *gate) enter() (room, found bool) {
	if m.spare == 0 {
		return true, false
	}
	m.spare--
	return true, true
}

// task brings so many, as a listener accepts: it stops when the limit is reached.
func (m *gate) task(n int) {
	for {
		if open := m.limit.Reopen(m.enter); open && n > 0 {
			m.bring()
			n--
			continue
		}
		explorer.Rest(m.x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
	}
}

// take takes so many.
func (m *gate) take(n int) {
	for range n {
		explorer.Rest(m.x, "waits", &m.ready, func() bool { return m.ready > 0 }, func() { m.ready-- })
		m.wake(m.limit.Taken())
		explorer.Step(m.x, "took", &m.taken, func() { m.taken++ })
	}
}

// gated explores a task that brings as many as goroutines take, and more that nobody takes.
// They take so many each.
func gated(t *testing.T, most, spare, more int, takes ...int) {
	t.Helper()
	preemptions := explorer.Unbounded
	if len(takes) > 1 {
		preemptions = 3
	}
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		m := &gate{x: x, limit: Limit{Most: most}, spare: spare}
		m.limit.stopped = spare > 0
		all := 0
		for i, n := range takes {
			all += n
			x.Go(string(rune('a'+i)), func() { m.take(n) })
		}
		x.Go("task", func() { m.task(all + more) })
		x.Always(func() {
			waiting := m.limit.waiting.Load()
			x.Require(waiting <= int64(most), "%d wait", waiting)
		})
		x.Finally(func() {
			x.Require(m.taken == all, "%d of %d were taken: a wake-up was lost", m.taken, all)
			waiting := m.limit.waiting.Load()
			x.Require(!m.limit.stopped || waiting > int64(most/2), "stopped, and %d wait", waiting)
			x.Require(m.spare == 0, "%d have not entered", m.spare)
		})
	})
}

// The task stops at the limit, and goes on when enough were taken.
func TestExploreALimitThatOneGoroutineTakesFrom(t *testing.T) {
	t.Run("of one", func(t *testing.T) { gated(t, 1, 0, 1, 3) })
	t.Run("of two", func(t *testing.T) { gated(t, 2, 1, 2, 2) })
}

func TestExploreALimitThatTwoGoroutinesTakeFrom(t *testing.T) {
	t.Run("of one", func(t *testing.T) { gated(t, 1, 1, 0, 1, 1) })
	t.Run("of two", func(t *testing.T) { gated(t, 2, 0, 1, 1, 1) })
}

// The task goes on in its own run while another goroutine counts arrivals: the handlers of
// a listener's connections run on other workers.
func TestExploreALimitWithArrivalsBesideTheTask(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: explorer.Unbounded}, func(x *explorer.Execution) {
		m := &gate{x: x, limit: Limit{Most: 2}}
		open := false
		m.limit.stopped, m.woken = true, true
		x.Go("task", func() {
			for {
				explorer.Rest(x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
				was := m.limit.Reopen(m.enter)
				explorer.Step(x, "opens", &open, func() { open = was })
			}
		})
		x.Go("handlers", func() { m.bring(); m.bring() })
		x.Finally(func() { x.Require(!open, "it is open with 2 that wait") })
	})
}
