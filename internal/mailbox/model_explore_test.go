//go:build explore

package mailbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/suiro-go/suiro/internal/atomics"
	explorer "github.com/suiro-go/suiro/internal/explore"
)

type (
	box   = Box[byte, string, int]
	queue = Queue[byte, string, int]
	free  = FreeQueues[byte, string, int]
)

// lists are of a model, in which nobody counts allocations.
type lists struct{}

func (lists) ChunkList() []byte { return nil }

// A model is a task with a Box, a worker that fills it, and goroutines that send commands. Chunks
// are letters. A command is a word that begins with the name of its goroutine.
type model struct {
	x     *explorer.Execution
	mu    atomics.Mutex
	box   box
	woken bool
	pools []*free // of all workers

	accepted, refused []string
	executed          []string // late ones included
	read              string   // the chunks, as the task has seen them
	ended             bool     // and the end of the receive
	fin               bool     // nothing may be written any more
	over              bool     // the task is complete

	budget int  // chunks that a run takes; 0: all
	finish bool // the task is to send the FIN
	abort  bool // the task is to end
}

func newModel(x *explorer.Execution) *model {
	m := &model{x: x}
	x.Always(m.check)
	return m
}

func (m *model) pool() *free {
	p := new(free)
	m.pools = append(m.pools, p)
	return p
}

// check holds at all times: a queue that was given back is empty, and nobody has it.
func (m *model) check() {
	seen := []*queue{m.box.queue}
	for _, p := range m.pools {
		var all []*queue
		for p.Len() > 0 {
			all = append(all, p.Get())
		}
		for _, one := range all {
			m.x.Require(one.chunks == nil && one.commands == nil && one.bytes == 0 && one.rest == 0, "a queue was given back with something in it")
			m.x.Require(!slices.Contains(seen, one), "a queue that was given back is in use")
			seen = append(seen, one)
			p.Put(one)
		}
	}
}

func (m *model) wake() { explorer.Step(m.x, "wakes", &m.woken, func() { m.woken = true }) }

// tell is a goroutine with a command; write: it may be refused before the others.
func (m *model) tell(command string, write bool) {
	m.mu.Lock()
	ok := (!write || m.box.TakesWrites()) && m.box.Tell(command, len(command))
	if ok {
		m.accepted = append(m.accepted, command)
	} else {
		m.refused = append(m.refused, command)
	}
	m.x.Require(!ok || !m.over, "%s was accepted after the end", command)
	m.mu.Unlock()
	if ok {
		m.wake()
	}
}

// deliver is the worker: the last of the chunks comes with the end of the receive.
func (m *model) deliver(chunks string, ends bool) {
	p := m.pool()
	m.x.Go("worker", func() {
		for i := range chunks {
			m.mu.Lock()
			m.box.Arrived(p, lists{}, chunks[i])
			if ends && i == len(chunks)-1 {
				m.box.RecvEnd(7)
			}
			m.mu.Unlock()
			m.wake()
		}
	})
}

// flies is the worker that deals with the end of an operation, for which the owner's part of the
// queue was in use.
func (m *model) flies() {
	p := m.pool()
	*m.box.Need(p) = 1
	m.x.Go("flight", func() {
		m.mu.Lock()
		*m.box.Rest() = 0
		m.box.SendEnd(0)
		m.box.Spare(p, true)
		m.mu.Unlock()
		m.wake()
	})
}

// task is the task, whose runs go on until it is complete.
func (m *model) task() {
	p := m.pool()
	m.x.Go("task", func() {
		for !m.over {
			explorer.Rest(m.x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
			m.run(p)
		}
	})
}

func (m *model) run(p *free) {
	var n Batch[byte, string]
	m.mu.Lock()
	m.box.Take(&n)
	m.mu.Unlock()
	m.execute(n.Commands)
	took := len(n.Chunks)
	if m.budget > 0 && !m.abort {
		took = min(took, m.budget)
	}
	for _, c := range n.Chunks[:took] {
		m.x.Require(!m.ended, "%q was seen after the end", c)
		m.read += string(c)
	}
	if took < len(n.Chunks) {
		m.mu.Lock()
		m.box.PutBack(p, slices.Clone(n.Chunks[took:]), &n)
		m.mu.Unlock()
		m.wake()
	}
	if n.Signs.Is(RecvEnded) {
		m.x.Require(!m.ended && n.RecvErrno == 7, "the end was seen twice, or with another reason: %d", n.RecvErrno)
		m.ended = true
	}
	m.settle(p)
}

// settle is the end of a run: the FIN, or the end, or nothing.
func (m *model) settle(p *free) {
	var finish, abort bool
	explorer.Step(m.x, "looks", &m.finish, func() { finish, abort = m.finish, m.abort })
	m.mu.Lock()
	if finish && m.box.Shut() == 0 {
		m.fin = true
	}
	if abort {
		m.box.Close()
	}
	m.box.Spare(p, m.box.Rest() != nil && *m.box.Rest() == 0)
	m.mu.Unlock()
	if !abort {
		return
	}
	m.mu.Lock()
	late := m.box.Late()
	m.mu.Unlock()
	m.execute(late)
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
}

func (m *model) execute(commands []string) {
	for _, c := range commands {
		m.x.Require(!m.fin || !strings.HasPrefix(c, "w"), "%s was written after the FIN", c)
		m.executed = append(m.executed, c)
	}
}

// asks is a goroutine that makes the task end itself or its output.
func (m *model) asks(what *bool) {
	m.x.Go("asks", func() {
		explorer.Step(m.x, "asks", &m.finish, func() { *what = true })
		m.wake()
	})
}

// allExecuted requires that each accepted command was executed once, in its place, and that no
// other was.
func (m *model) allExecuted(commands int) {
	m.x.Require(len(m.accepted)+len(m.refused) == commands, "%q and %q", m.accepted, m.refused)
	m.x.Require(slices.Equal(m.executed, m.accepted), "executed %q of %q: a wake-up was lost, or an order", m.executed, m.accepted)
}

// explored goes through a scenario's orders: all, or those of so many preemptions.
func explored(t *testing.T, preemptions int, scenario func(m *model)) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) { scenario(newModel(x)) })
}
