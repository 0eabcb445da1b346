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

	got      string // by the kernel
	users    int    // of the descriptor
	flight   string // an operation; "": none
	noWait   bool   // the operation does not wait for room
	back     bool   // the operation has ended before all was sent; the task deals with it
	canceled bool   // the operation, or the wait for room
	full     bool   // the peer takes nothing: a wait for room ends only when it is canceled
	refuses  bool   // the reactor accepts no operation: it is closed
	armed    bool   // a wait for room
	fin      bool   // the write side is shut down
	closed   bool   // the descriptor
	abort    bool   // the task is to close
	finish   bool   // the task is to shut down the write side
	roomIn   bool   // the wait for room has ended
	room     int    // how often the waiter was told
	dropped  string // what the task has not sent, and need not

	turn     atomics.Mutex // of the goroutines that write
	shuts    bool          // the entrance may be shut: writes ask under the lock
	shut     bool          // the entrance: writes that begin from now on are refused
	accepted string        // from writes, where the entrance may be shut

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

// write is a goroutine that sends p. The kernel accepts as many bytes at once as takes says. With
// waits the goroutine then waits for room.
func (m *model) write(p string, takes int, waits bool) {
	if m.shuts {
		m.mu.Lock()
		if m.shut {
			m.mu.Unlock()
			return
		}
		m.accepted += p
	}
	n, held := 0, m.right.Try()
	locked := m.shuts && !held // until the bytes are queued
	if m.shuts && held {
		m.mu.Unlock()
	}
	if held {
		n = min(takes, len(p))
		m.call(p[:n])
		if n == len(p) {
			m.told(m.right.GiveUp(n, 0))
			return
		}
	}
	leave := uint64(0)
	if !locked {
		m.mu.Lock()
	}
	m.entrance += p[n:]
	if waits {
		m.waiter, leave = true, Waits
	}
	if held {
		t := m.right.GiveUp(n, Queued|leave)
		m.mu.Unlock()
		m.x.Require(!t.Waiter, "write has forgotten another goroutine that waits for room")
		m.wake()
		return
	}
	wake := m.right.Queue(leave)
	m.mu.Unlock()
	if wake {
		m.wake()
	}
}

// raw is a goroutine that sends b by a call of its own, once nothing is queued before it.
func (m *model) raw(b string) {
	for {
		m.mu.Lock()
		if m.right.Try() {
			m.mu.Unlock()
			m.call(b)
			m.told(m.right.GiveUp(len(b), 0))
			return
		}
		m.waiter = true
		wake := m.right.Queue(Waits)
		m.mu.Unlock()
		if wake {
			m.wake()
		}
		m.awaitRoom()
	}
}

func (m *model) awaitRoom() {
	explorer.Wait(m.x, "waits for room", &m.room, func() bool { return m.room > 0 }, func() { m.room = 0 })
}

// launches is the task of another connection that sends b by an operation, if nobody sends. An end
// may have come before the operation is there to be canceled, so it does not wait for room.
func (m *model) launches(b string) (sent bool) {
	m.mu.Lock()
	if sent = m.right.Try(); sent {
		m.right.Pass(Operation)
	}
	m.mu.Unlock()
	if sent {
		m.submit(b, true)
	}
	return sent
}

// submit begins an operation. If the reactor refuses it, the hold ends, and so does the connection.
func (m *model) submit(b string, noWait bool) {
	if !m.refuses {
		explorer.Step(m.x, "submits", &m.users, func() { m.use(); m.flight, m.noWait = b, noWait })
		return
	}
	m.mu.Lock()
	t := m.right.GiveUp(len(b), 0)
	m.mu.Unlock()
	m.told(t)
	m.asks(&m.abort)
}

// deliver is the worker that deals with the ends of operations.
func (m *model) deliver(most int) {
	for {
		explorer.Rest(m.x, "polls", &m.users, func() bool {
			return m.flight != "" && !m.back && (!m.full || m.noWait || m.canceled) || m.armed && (!m.full || m.canceled)
		}, nil)
		m.mu.Lock()
		if m.armed {
			m.armed, m.roomIn = false, true
			m.mu.Unlock()
			m.wake()
			continue
		}
		if m.full {
			explorer.Step(m.x, "ends it", &m.users, func() { m.took(""); m.back = true })
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
		back := m.back
		m.mu.Unlock()
		if back {
			m.resends()
		}
		run()
	}
}

// resends goes on with an operation that has ended before all was sent, or drops its rest.
func (m *model) resends() {
	if !m.abort {
		explorer.Step(m.x, "submits again", &m.users, func() { m.use(); m.back, m.noWait = false, false })
		return
	}
	m.mu.Lock()
	m.flight, m.back = "", false
	m.right.GiveUp(0, 0) // this task runs, and the end of the connection wakes all others
	m.mu.Unlock()
}

// calls sends the pending bytes by a call of the task's own.
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

// submits sends the pending bytes by an operation. wants: the task is to run at its end.
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
		m.submit(start, false)
	}
}

// pieces sends the file by calls of a byte each, with a wait for room between.
func (m *model) pieces() {
	if m.file == "" {
		return
	}
	m.right.Queue(0)
	if !m.right.Take(Call, false) {
		return
	}
	m.call(m.file[:1])
	if m.file = m.file[1:]; m.file == "" {
		t := m.right.GiveUp(1, 0)
		t.Task = false // it runs
		m.told(t)
		return
	}
	m.right.Took(1)
	m.right.Pass(Room)
	if !m.refuses {
		explorer.Step(m.x, "waits for room", &m.users, func() { m.armed = true })
		return
	}
	m.mu.Lock()
	m.right.RoomCame()
	m.mu.Unlock()
	m.asks(&m.abort)
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
	m.mu.Lock()
	held, first := m.right.Close()
	m.mu.Unlock()
	if first && held == Operation {
		explorer.Step(m.x, "cancels", &m.users, func() { m.canceled = m.flight != "" })
	}
	if first && held == Room {
		explorer.Step(m.x, "cancels the wait", &m.users, func() { m.canceled = m.armed })
	}
	if held == Nobody {
		explorer.Step(m.x, "closes", &m.users, func() {
			m.x.Require(m.users == 0 && !m.closed, "the descriptor is closed in a call")
			m.x.Require(!m.armed, "the descriptor is closed while a wait for room is in flight")
			m.closed, m.ended = true, true
		})
	}
}

// sendsAll sends by calls, and sends the FIN after all that was accepted. A call under way may
// leave a rest, which comes before the FIN.
func (m *model) sendsAll() {
	if m.mine != "" && m.right.Take(Call, false) {
		m.call(m.mine)
		m.right.GiveUp(len(m.mine), 0)
		m.mine = ""
	}
	m.mu.Lock()
	over := false
	if m.finish {
		calls := m.right.Want()
		m.shut = true
		over = m.mine+m.entrance == "" && !calls
	}
	m.settle()
	if over {
		m.shutDown()
	}
}

// shutDown sends the FIN once nobody sends.
func (m *model) shutDown() {
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
