//go:build explore

package mailbox

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

const all = explorer.Unbounded

// Each command is executed once, in the order in which its goroutine sent it.
func TestExploreCommands(t *testing.T) {
	t.Run("of one goroutine", func(t *testing.T) {
		explored(t, all, func(m *model) {
			m.task()
			m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false); m.tell("a3", false) })
			m.x.Finally(func() { m.allExecuted(3) })
		})
	})
	t.Run("of two goroutines", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.task()
			m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false) })
			m.x.Go("b", func() { m.tell("b1", false); m.tell("b2", false) })
			m.x.Finally(func() { m.allExecuted(4) })
		})
	})
}

// Chunks are seen in the order of their arrival, then the end. A run that takes one chunk puts the
// others back.
func TestExploreChunks(t *testing.T) {
	for name, budget := range map[string]int{"all in a run": 0, "one in a run": 1} {
		t.Run(name, func(t *testing.T) {
			explored(t, 5, func(m *model) {
				m.budget = budget
				m.task()
				m.deliver("abcd", true)
				m.x.Finally(func() { m.x.Require(m.read == "abcd" && m.ended, "read %q, ended: %v", m.read, m.ended) })
			})
		})
	}
	t.Run("and commands", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.budget = 1
			m.task()
			m.deliver("abc", true)
			m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false) })
			m.x.Finally(func() {
				m.allExecuted(2)
				m.x.Require(m.read == "abc" && m.ended, "read %q, ended: %v", m.read, m.ended)
			})
		})
	})
}

// A command is accepted and executed, or refused, whenever the task ends.
func TestExploreAnEnd(t *testing.T) {
	t.Run("one goroutine", func(t *testing.T) {
		explored(t, 5, func(m *model) {
			m.task()
			m.asks(&m.abort)
			m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false) })
			m.x.Finally(func() {
				m.allExecuted(2)
				m.x.Require(m.over, "the task has not ended")
			})
		})
	})
	t.Run("two goroutines", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.task()
			m.asks(&m.abort)
			m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false) })
			m.x.Go("w", func() { m.tell("w1", true) })
			m.x.Finally(func() { m.allExecuted(3) })
		})
	})
}

// Writes that were accepted are executed before the FIN, and none is accepted after it.
func TestExploreAFIN(t *testing.T) {
	explored(t, 4, func(m *model) {
		m.task()
		m.asks(&m.finish)
		m.x.Go("w", func() { m.tell("w1", true); m.tell("w2", true); m.tell("a1", false) })
		m.x.Finally(func() {
			m.allExecuted(3)
			m.x.Require(m.fin, "no FIN was sent")
		})
	})
}

// A Box that was closed stays closed when the task shuts down its output.
func TestExploreAFINAtTheEnd(t *testing.T) {
	explored(t, 4, func(m *model) {
		m.finish = true
		m.x.Go("task", func() {
			p := m.pool()
			m.run(p)
			m.mu.Lock()
			m.box.Close()
			m.box.Shut()
			m.over = true
			m.mu.Unlock()
			m.execute(m.box.Late())
		})
		m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false) })
		m.x.Finally(func() { m.allExecuted(2) })
	})
}

// The queue is given back by the task and by a worker: it is empty, and nothing enters it then.
func TestExploreABatchThatIsGivenBack(t *testing.T) {
	t.Run("by the task", func(t *testing.T) {
		explored(t, 4, func(m *model) {
			m.budget = 1
			m.task()
			m.deliver("ab", false)
			m.x.Go("a", func() { m.tell("a1", false); m.tell("a2", false) })
			m.x.Finally(func() {
				m.allExecuted(2)
				m.x.Require(m.box.queue == nil && m.read == "ab", "the box keeps its queue, with %q left", m.read)
			})
		})
	})
	t.Run("by a worker", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.task()
			m.flies()
			m.deliver("ab", true)
			m.x.Go("a", func() { m.tell("a1", false) })
			m.x.Finally(func() {
				m.allExecuted(1)
				m.x.Require(m.box.queue == nil && m.read == "ab" && m.ended, "the box keeps its queue, with %q left", m.read)
			})
		})
	})
}

// A sign that stays is there until it is taken back, and each other sign is taken once.
func TestExploreSigns(t *testing.T) {
	const mine Signs = 1 << 2
	explored(t, all, func(m *model) {
		seen := 0
		m.x.Go("task", func() {
			for {
				explorer.Rest(m.x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
				var n Batch[byte, string]
				m.mu.Lock()
				m.box.Take(&n)
				m.mu.Unlock()
				m.x.Require(!n.Signs.Is(Stays), "a sign that stays was taken")
				if n.Signs.Is(mine) {
					seen++
				}
			}
		})
		m.x.Go("worker", func() {
			m.mu.Lock()
			m.box.Sign(mine | Stays)
			m.mu.Unlock()
			m.wake()
			m.mu.Lock()
			m.x.Require(m.box.Signs().Is(Stays), "a sign that stays has gone")
			m.box.Unsign(Stays)
			m.mu.Unlock()
		})
		m.x.Finally(func() { m.x.Require(seen == 1, "a sign was seen %d times", seen) })
	})
}
