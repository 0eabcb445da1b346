package conn

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// An Overflow says what becomes of the connection that comes when there are
// Config.MaxConns of them.
type Overflow uint8

const (
	// Refuse accepts and resets it: the client knows at once.
	Refuse Overflow = iota
	// Wait leaves it in the kernel's backlog of the listener, as connected as the kernel
	// makes it, until another one ends. Each listener accepts one at a time then, so the
	// accepted connections take at most MaxConns descriptors, and one more for each
	// listener (on Windows, up to 8 for each).
	Wait
)

// An admission counts accepted connections against the limits of the configuration.
//
// A listener for which there was no room registers in waiting, and looks once more
// under the same lock. Whoever makes room counts it first and then takes that lock.
// So either the listener sees the room, or it is seen and woken.
type admission struct {
	accepted atomic.Int64 // living connections that were accepted; counted with MaxConns alone

	mu      sync.Mutex
	sources map[netip.Addr]int // living ones by the peer's address, with MaxPerSource alone
	waiting map[*Listener]bool
}

// A verdict says what is to be done with a connection that has been accepted.
type verdict uint8

const (
	admitted verdict = iota
	tooMany          // in all
	tooManyOfSource
)

// admit counts a connection, if there is room for it.
func (g *Group) admit(c *Conn) verdict {
	a := &g.admission
	if limit := g.cfg.MaxPerSource; limit > 0 && !c.local() {
		source := c.peer
		a.mu.Lock()
		if a.sources[source] >= limit {
			a.mu.Unlock()
			return tooManyOfSource
		}
		if a.sources == nil {
			a.sources = make(map[netip.Addr]int)
		}
		a.sources[source]++
		a.mu.Unlock()
	}
	if g.cfg.MaxConns > 0 && !g.takeSlot() {
		g.forgetSource(c)
		return tooMany
	}
	c.set(counted)
	return admitted
}

func (g *Group) takeSlot() bool {
	for {
		n := g.admission.accepted.Load()
		if n >= int64(g.cfg.MaxConns) {
			return false
		}
		if g.admission.accepted.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (g *Group) forgetSource(c *Conn) {
	if g.cfg.MaxPerSource <= 0 || c.local() {
		return
	}
	a, source := &g.admission, c.peer
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sources[source]--; a.sources[source] == 0 {
		delete(a.sources, source)
	}
}

// discharge takes back what admit has counted, and wakes listeners that wait.
func (g *Group) discharge(c *Conn) {
	if !c.is(counted) {
		return
	}
	g.forgetSource(c)
	if g.cfg.MaxConns <= 0 {
		return
	}
	a := &g.admission
	a.accepted.Add(-1)
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.waiting {
		l.task.Wake()
	}
	clear(a.waiting)
}

// waits reports whether listeners wait at MaxConns. Those that refuse accept all the same.
func (g *Group) waits() bool { return g.cfg.MaxConns > 0 && g.cfg.Overflow == Wait }

// awaitRoom reports whether there is room; else the listener is woken when there is.
func (g *Group) awaitRoom(l *Listener) bool {
	if g.bounded() && !g.ledger.Await(&l.place, &l.task) {
		return false
	}
	a := &g.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	if !g.waits() || a.accepted.Load() < int64(g.cfg.MaxConns) {
		return true
	}
	if a.waiting == nil {
		a.waiting = make(map[*Listener]bool)
	}
	a.waiting[l] = true
	return false
}
