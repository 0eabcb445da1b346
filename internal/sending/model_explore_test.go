//go:build explore

package sending

import (
	"strings"
	"testing"

	"github.com/suiro-go/suiro/internal/atomics"
	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A model is a connection around a Right: the entrance of its queue, its task,
// and a kernel that notices two users at once and use of a closed descriptor.
// Bytes are letters.
type model struct {
	x     *explorer.Execution
	right Right

	mu       atomics.Mutex
	entrance string // what goroutines have queued
	waiter   bool   // a goroutine waits for room

	woken bool
	ended bool // the task is complete

	got     string // by the kernel
	users   int    // of the descriptor
	flight  string // an operation; "": none
	armed   bool   // a wait for room
	fin     bool   // the write side is shut down
	closed  bool   // the descriptor
	abort   bool   // the task is to close
	mute    bool   // the task is to shut down the write side
	roomIn  bool   // the wait for room has ended
	room    int    // how often the waiter was told
	dropped string // what the task has not sent, and need not

	// The task's own.
	mine string
	file string // leaves in pieces of a byte, with a wait for room between
}

func newModel(x *explorer.Execution) *model {
	m := &model{x: x}
	x.Always(func() {
		w := m.right.word.Load()
		x.Require(w&Waits == 0 || w&(Queued|holders|closed) != 0, "a goroutine waits for nothing: %#x", w)
	})
	return m
}

// allSent requires that everything the goroutines wrote has been sent.
func (m *model) allSent(bytes int) {
	m.x.Finally(func() {
		m.x.Require(len(m.got) == bytes, "sent %q, left %q, %q and %q", m.got, m.entrance, m.mine, m.flight)
		m.x.Require(m.right.Sent() == uint64(bytes), "%d bytes were counted", m.right.Sent())
		m.x.Require(m.right.word.Load()&(holders|Queued|Waits) == 0, "left in state %#x", m.right.word.Load())
		m.x.Require(!m.waiter, "a goroutine waits for room")
	})
}

// ordered requires that one letter was sent before another.
func (m *model) ordered(first, second string) {
	a, b := strings.Index(m.got, first), strings.Index(m.got, second)
	m.x.Require(b < 0 || 0 <= a && a < b, "%q was sent before %q: %q", second, first, m.got)
}

func (m *model) use() {
	m.users++
	m.x.Require(m.users == 1, "%d send at once", m.users)
	m.x.Require(!m.closed, "a call on a closed descriptor")
	m.x.Require(!m.fin, "bytes after the FIN")
}

func (m *model) took(b string) {
	m.users--
	m.got += b
	m.x.Require(!m.closed, "the descriptor was closed under a call")
}

// call is a system call that sends b.
func (m *model) call(b string) {
	explorer.Step(m.x, "calls", &m.users, m.use)
	explorer.Step(m.x, "returns", &m.users, func() { m.took(b) })
}

func (m *model) wake() { explorer.Step(m.x, "wakes", &m.woken, func() { m.woken = true }) }

// told wakes those that GiveUp has named.
func (m *model) told(t Told) {
	if t.Task {
		m.wake()
	}
	if t.Waiter {
		m.madeRoom()
	}
}

func (m *model) madeRoom() {
	m.mu.Lock()
	waits := m.waiter
	m.waiter = false
	m.mu.Unlock()
	if waits {
		explorer.Step(m.x, "tells of room", &m.room, func() { m.room++ })
	}
}

// put is a goroutine that sends p, of which the kernel takes so many bytes at
// once. With waits it then waits for room.
func (m *model) put(p string, takes int, waits bool) {
	n, held := 0, m.right.Try()
	if held {
		n = min(takes, len(p))
		m.call(p[:n])
		if n == len(p) {
			m.told(m.right.GiveUp(n, 0))
			return
		}
	}
	leave := uint64(0)
	m.mu.Lock()
	m.entrance += p[n:]
	if waits {
		m.waiter, leave = true, Waits
	}
	if held {
		t := m.right.GiveUp(n, Queued|leave)
		m.mu.Unlock()
		t.Task = true
		m.told(t)
		return
	}
	wake := m.right.Queue(leave)
	m.mu.Unlock()
	if wake {
		m.wake()
	}
}

// deliver is the worker that deals with the ends of operations.
func (m *model) deliver(most int) {
	for {
		explorer.Rest(m.x, "polls", &m.users, func() bool { return m.flight != "" || m.armed }, nil)
		m.mu.Lock()
		if m.armed {
			m.armed, m.roomIn = false, true
			m.mu.Unlock()
			m.wake()
			continue
		}
		n := min(most, len(m.flight))
		part := n < len(m.flight)
		explorer.Step(m.x, "completes", &m.users, func() {
			m.took(m.flight[:n])
			if m.flight = m.flight[n:]; part {
				m.users++ // it is sent again
			}
		})
		if part {
			m.right.Took(n)
			m.mu.Unlock()
			continue
		}
		t := m.right.GiveUp(n, 0)
		m.mu.Unlock()
		m.told(t)
	}
}

// task is the connection's task: run is what it does with what it has collected.
func (m *model) task(run func()) {
	for !m.ended {
		explorer.Rest(m.x, "sleeps", &m.woken, func() bool { return m.woken }, func() { m.woken = false })
		m.mu.Lock()
		m.mine += m.entrance
		m.entrance = ""
		if m.roomIn {
			m.roomIn = false
			m.right.RoomCame()
		}
		m.mu.Unlock()
		run()
	}
}

// calls sends what there is by a call of the task's own.
func (m *model) calls() {
	if m.mine != "" && m.right.Take(Call, false) {
		m.call(m.mine)
		t := m.right.GiveUp(len(m.mine), 0)
		t.Task = false // it runs
		m.mine = ""
		m.told(t)
	}
	m.mu.Lock()
	m.settle()
}

// submits sends what there is by an operation. wants: the task is to run at its end.
func (m *model) submits(wants bool) {
	m.mu.Lock()
	start := ""
	if m.mine != "" && m.right.Take(Operation, wants || m.entrance != "") {
		start, m.mine = m.mine, ""
	} else if wants {
		m.right.Want()
	}
	m.settle()
	if start != "" {
		explorer.Step(m.x, "submits", &m.users, func() { m.use(); m.flight = start })
	}
}

// settle notes whether anything is queued, under the lock, which it releases.
func (m *model) settle() {
	waits := false
	if m.mine+m.file+m.entrance == "" {
		waits = m.right.Drained()
	} else {
		m.right.Queue(0)
	}
	m.mu.Unlock()
	if waits {
		m.madeRoom()
	}
}

// ends closes the descriptor once nobody sends.
func (m *model) ends() {
	if held, _ := m.right.Close(); held == Nobody {
		explorer.Step(m.x, "closes", &m.users, func() {
			m.x.Require(m.users == 0 && !m.closed, "the descriptor is closed in a call")
			m.closed, m.ended = true, true
		})
	}
}

// shuts sends the FIN once nobody sends.
func (m *model) shuts() {
	if !m.fin && m.right.Bar() {
		explorer.Step(m.x, "shuts down", &m.users, func() {
			m.x.Require(m.users == 0, "a FIN in a call")
			m.fin = true
		})
	}
}

// asks is a goroutine that has the task abort or shut down.
func (m *model) asks(what *bool) {
	explorer.Step(m.x, "asks", &m.woken, func() { *what, m.woken = true, true })
}

// explored goes through a scenario's orders: all, or those of so many preemptions.
func explored(t *testing.T, preemptions int, scenario func(m *model)) {
	t.Helper()
	explorer.Explore(t, explorer.Options{Preemptions: preemptions}, func(x *explorer.Execution) { scenario(newModel(x)) })
}
