//go:build explore

package mpsc

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A model is a process with a mailbox, and goroutines that send messages and answers to it. A
// message is a number of two digits; the first digit is its sender. Answers are above 100.
type model struct {
	x       *explorer.Execution
	mailbox Mailbox[int]
	state   State
	woken   bool // the task is scheduled, as sched.Task.Wake does
	got     []int
	refused int
	counted int // messages taken and not freed
	answers int // the process waits for, after its first run
	most    int // runs, after which the process ends; 0: never
	over    bool
	spare   []*Node[int] // taken nodes, which senders use again
}

func (m *model) wake() { explorer.Step(m.x, "wakes", &m.woken, func() { m.woken = true }) }

// node is a new node, or one that has been taken.
func (m *model) node(v int) (n *Node[int]) {
	explorer.Step(m.x, "gets a node", &m.spare, func() {
		if k := len(m.spare); k > 0 {
			n, m.spare = m.spare[k-1], m.spare[:k-1]
		} else {
			n = new(Node[int])
		}
	})
	n.Value = v
	return n
}

func (m *model) send(v int) {
	m.put(v, Message)
}

func (m *model) answer(v int) { m.put(v, Answer) }

func (m *model) put(v int, kind Kind) {
	n := m.node(v)
	if kind == Message && !m.mailbox.Reserve() {
		explorer.Step(m.x, "is refused", &m.refused, func() { m.refused++ })
		return
	}
	accepted, first := m.mailbox.Put(n)
	switch {
	case !accepted:
		if kind == Message {
			m.mailbox.Free(1)
		}
		explorer.Step(m.x, "is refused", &m.refused, func() { m.refused++ })
	case first || kind == Answer:
		if m.state.Notify(kind) {
			m.wake()
		}
	}
}

// take takes all mail.
func (m *model) take(newest *Node[int]) {
	var oldest *Node[int]
	for n := newest; n != nil; {
		n, n.Next, oldest = n.Next, oldest, n
	}
	for n := oldest; n != nil; {
		next := n.Next
		v := n.Value
		if v < 100 {
			m.mailbox.Free(1)
		}
		explorer.Step(m.x, "receives", &m.got, func() {
			m.got = append(m.got, v)
			if v > 100 {
				m.answers--
			}
		})
		explorer.Step(m.x, "frees a node", &m.spare, func() { m.spare = append(m.spare, n) })
		n = next
	}
}

// task is the process: it waits for answers, then for messages.
func (m *model) task() {
	m.woken = true
	m.x.Go("task", func() {
		for runs := 1; ; runs++ {
			explorer.Rest(m.x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
			for again := true; again; {
				m.state.Begin()
				m.take(m.mailbox.Take())
				if runs == m.most {
					m.state.Finish()
					m.take(m.mailbox.Close())
					explorer.Step(m.x, "ends", &m.over, func() { m.over = true })
					return
				}
				to := Idle
				if m.answers > 0 {
					to = Blocked
				}
				again = m.state.Settle(to)
			}
		}
	})
}

// received requires that all messages that were not refused were received, each sender's in order.
func (m *model) received(sent int) {
	m.x.Require(len(m.got)+m.refused == sent, "%v received and %d refused of %d: a wake-up or a message was lost", m.got, m.refused, sent)
	last := map[int]int{}
	for _, v := range m.got {
		m.x.Require(v > last[v/10], "the order is %v", m.got)
		last[v/10] = v
	}
	m.x.Require(m.mailbox.Len() == 0, "%d are counted in the end", m.mailbox.Len())
}

func explored(t *testing.T, preemptions int, scenario func(m *model)) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) {
		m := &model{x: x}
		m.mailbox.Init(new(Node[int]), 0)
		scenario(m)
	})
}
