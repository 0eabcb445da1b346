package process

import (
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/mpsc"
	"github.com/suiro-go/suiro/sched"
)

// A Self is a process as its own code sees it. Only that code may use it, while it runs: Init, Step
// and Close of a Process, or the function of Go. Other goroutines use the System.
type Self struct{ p *proc }

// PID is the process's address.
func (s *Self) PID() PID { return s.p.pid }

// System is the process's system.
func (s *Self) System() *System { return s.p.sys }

// TrySend is System.TrySend from the running process, with a cheaper wake-up. A function that may
// wait for room uses System.Send.
func (s *Self) TrySend(to PID, message any) error { return s.p.sys.trySend(s.p.cx, to, message) }

// TrapExits makes the exits of linked processes events (EventExit) instead of the end of this one.
func (s *Self) TrapExits(on bool) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.trap = on
}

// Link links the process with another one, in both directions. When one of the two ends, the other
// ends with an ExitError, unless the first has ended normally: with nil or ErrCanceled. A process
// that traps exits gets an EventExit in all cases. If the other process has ended already, this
// counts as an end with ErrNoProcess. Linking twice has no effect.
func (s *Self) Link(pid PID) {
	p := s.p
	if pid == p.pid {
		return
	}
	if other := p.sys.table.get(pid); other != nil && p.link(other) {
		return
	}
	p.addLink(pid)
	p.linkedEnded(pid, ErrNoProcess, false)
}

// link links two processes. p runs, or other is new. false: the other one has ended.
//
// An end takes the links of its process under the lock, and tells those. So either the end of the
// other process sees p among its links, or p sees that it has ended.
func (p *proc) link(other *proc) bool {
	p.addLink(other.pid)
	if other.addLink(p.pid) {
		return true
	}
	p.removeLink(other.pid)
	return false
}

func (p *proc) addLink(pid PID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	x := p.more()
	if x.links == nil {
		x.links = make(map[PID]struct{})
	}
	x.links[pid] = struct{}{}
	return true
}

// removeLink removes the link from p to another process, if there is one.
func (p *proc) removeLink(pid PID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.extras != nil {
		delete(p.extras.links, pid)
	}
}

// knows reports whether the process is linked with another one, or has the event of its end. The
// process runs, and traps exits.
func (p *proc) knows(pid PID) bool {
	linked := false
	p.mu.Lock()
	if p.extras != nil {
		_, linked = p.extras.links[pid]
	}
	p.mu.Unlock()
	if linked {
		return true
	}
	p.lockMail() // the event is in the mailbox since the link is gone
	defer p.unlockMail()
	p.collect()
	for n := p.pending; n != nil; n = n.Next {
		if g := signalOf(n); g != nil && g.event.Type == EventExit && g.event.Data == pid {
			return true
		}
	}
	return false
}

// Unlink removes a link. After that, the end of the other process has no effect, and there is no
// EventExit of it.
func (s *Self) Unlink(pid PID) {
	p := s.p
	p.removeLink(pid)
	if other := p.sys.table.get(pid); other != nil {
		other.removeLink(p.pid)
	}
	p.forget(func(ev Event) bool { return ev.Type == EventExit && ev.Data == pid })
}

// forget removes matching events that wait.
func (p *proc) forget(match func(ev Event) bool) {
	p.lockMail()
	p.collect()
	p.unlockMail()
	for {
		if _, ok := p.receive(match); !ok {
			return
		}
	}
}

// linkedEnded is called when a linked process has ended. A link that was removed has no effect. All
// is done under the lock, so that an Unlink finds either the link or the event.
func (p *proc) linkedEnded(pid PID, reason error, normal bool) {
	g := p.sys.signal(Event{Type: EventExit, Data: pid, Error: reason})
	p.mu.Lock()
	used, wake := false, false
	if p.extras != nil {
		if _, linked := p.extras.links[pid]; linked {
			delete(p.extras.links, pid)
			used, wake = p.exited(g, normal)
		}
	}
	p.mu.Unlock()
	if wake {
		p.rouse(nil)
	}
	if !used {
		p.sys.free(&g.node)
	}
}

// exited makes the exit of a linked process an event, or the end of this process. The lock is held.
// The caller wakes the process if it must, once it has released the lock.
func (p *proc) exited(g *signal, normal bool) (used, wake bool) {
	ev := &g.event
	switch {
	case p.trap:
		if used, _ = p.mailbox.Put(&g.node); used {
			wake = p.state.Notify(mpsc.Answer)
		}
	case !normal:
		wake = p.killLocked(&ExitError{ev.Data.(PID), ev.Error})
	}
	return used, wake
}

// Monitor asks for an EventDown, with the returned tag, when another process ends. If it has ended
// already, the event comes at once, with ErrNoProcess. Several monitors of one process are
// independent.
func (s *Self) Monitor(pid PID) (tag uint64) {
	p := s.p
	tag = lastTag.Add(1)
	m := &monitor{owner: p, tag: tag, target: p.sys.table.get(pid)}
	p.mu.Lock()
	x := p.more()
	if x.monitors == nil {
		x.monitors = make(map[uint64]*monitor)
	}
	x.monitors[tag] = m
	p.mu.Unlock()
	if r := p.sys.remote(pid); m.target == nil && r != nil {
		m.stopRemote = r.Monitor(pid, func(reason error) { m.processEnded(pid, reason) })
	} else if m.target == nil || !m.target.watch(m) {
		m.processEnded(pid, ErrNoProcess)
	}
	return tag
}

// Demonitor removes a monitor. After that, there is no EventDown of it.
func (s *Self) Demonitor(tag uint64) {
	p := s.p
	p.mu.Lock()
	m := p.extras.monitor(tag)
	p.mu.Unlock()
	if m != nil {
		m.stop()
	}
	p.forget(func(ev Event) bool { return ev.Type == EventDown && ev.Tag == tag })
}

var lastTag atomic.Uint64

// A monitor is told when its target ends, and tells its owner.
type monitor struct {
	owner  *proc
	target *proc
	tag    uint64

	stopRemote func() // nil: the target is of the same system
}

// monitor takes out a monitor. The process's lock is held.
func (x *extras) monitor(tag uint64) *monitor {
	if x == nil {
		return nil
	}
	m := x.monitors[tag]
	delete(x.monitors, tag)
	return m
}

func (m *monitor) stop() {
	if m.target != nil {
		m.target.unwatch(m)
	}
	if m.stopRemote != nil {
		m.stopRemote()
	}
}

// processEnded tells the owner, unless it has removed the monitor. The event is put under the
// owner's lock, so that a Demonitor finds either the monitor or the event.
func (m *monitor) processEnded(pid PID, reason error) {
	p := m.owner
	g := p.sys.signal(Event{Type: EventDown, Tag: m.tag, Data: pid, Error: reason})
	p.mu.Lock()
	wake := false
	if p.extras.monitor(m.tag) != nil {
		if accepted, _ := p.mailbox.Put(&g.node); accepted {
			wake, g = p.state.Notify(mpsc.Answer), nil
		}
	}
	p.mu.Unlock()
	if wake {
		p.rouse(nil)
	}
	if g != nil {
		p.sys.free(&g.node)
	}
}

// describe names the process in reports of slow tasks.
func (p *proc) describe() (handler, peer string) {
	return "process " + p.pid.String(), ""
}

var _ sched.Body = (*stepper)(nil)
