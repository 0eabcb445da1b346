//go:build explore

package mpsc

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// Each message is received once, in its sender's order, and no wake-up is lost. Nodes are used
// again as soon as they have been taken.
func TestExploreMessages(t *testing.T) {
	t.Run("of one sender", func(t *testing.T) {
		explored(t, explorer.Unbounded, func(m *model) {
			m.task()
			m.x.Go("a", func() { m.send(11); m.send(12); m.send(13) })
			m.x.Finally(func() { m.received(3) })
		})
	})
	t.Run("of two senders", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.task()
			m.x.Go("a", func() { m.send(11); m.send(12) })
			m.x.Go("b", func() { m.send(21); m.send(22) })
			m.x.Finally(func() { m.received(4) })
		})
	})
}

// An answer that arrives while the process runs, or after it has blocked, wakes it. Messages that
// arrive meanwhile are received with the answer, or after it.
func TestExploreAnswers(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		explored(t, explorer.Unbounded, func(m *model) {
			m.answers = 2
			m.task()
			m.x.Go("a", func() { m.answer(101) })
			m.x.Go("b", func() { m.answer(111) })
			m.x.Finally(func() { m.received(2) })
		})
	})
	t.Run("beside messages", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.answers = 1
			m.task()
			m.x.Go("a", func() { m.answer(101) })
			m.x.Go("b", func() { m.send(21); m.send(22) })
			m.x.Finally(func() { m.received(3) })
		})
	})
}

// While no answer has come, messages alone do not run the process.
func TestExploreABlockedProcess(t *testing.T) {
	explored(t, explorer.Unbounded, func(m *model) {
		m.answers = 1
		m.task()
		m.x.Go("a", func() { m.send(11); m.send(12) })
		m.x.Finally(func() {
			m.x.Require(m.state.Phase() == Blocked, "the phase is %d", m.state.Phase())
		})
	})
}

// Whenever the process ends, each message was received or its sender knows.
func TestExploreAnEnd(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.most = 1
		m.mailbox.limit = 2
		m.task()
		m.x.Go("a", func() { m.send(11); m.send(12); m.send(13) })
		m.x.Go("b", func() { m.send(21) })
		m.x.Finally(func() {
			m.x.Require(m.over, "the process has not ended: a wake-up was lost")
			m.received(4)
		})
	})
}

// The limit holds at all times, and a sender is refused only by a full mailbox.
func TestExploreALimit(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.mailbox.limit = 2
		m.task()
		m.x.Go("a", func() { m.send(11); m.send(12) })
		m.x.Go("b", func() { m.send(21) })
		m.x.Always(func() {
			m.x.Require(m.mailbox.count.Load() <= 2, "%d messages are counted", m.mailbox.count.Load())
		})
		m.x.Finally(func() { m.received(3) })
	})
	t.Run("that is never reached", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.mailbox.limit = 3
			m.task()
			m.x.Go("a", func() { m.send(11); m.send(12) })
			m.x.Go("b", func() { m.send(21) })
			m.x.Finally(func() {
				m.received(3)
				m.x.Require(m.refused == 0, "%d were refused", m.refused)
			})
		})
	})
}
