package conn

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// ErrShed ends a connection that used the most when Config.MaxMemory was reached.
var ErrShed = errors.New("conn: shed: the connections' buffers had reached MaxMemory, and this one had the most")

// A ledger knows what the connections of a group have buffered, if MaxMemory bounds
// that. The policy, in order:
//
//  1. Above three quarters of MaxMemory nothing is accepted and no OnData called: what
//     is asked for waits in the kernel's buffers and in those of the peers. It goes
//     on, first come first, as peers take what was written.
//  2. When what connections themselves have buffered reaches MaxMemory, or above three
//     quarters when nothing is unsent and goroutines hold nothing, so that waiting would
//     not help, the connection with the most is reset. What goroutines hold resets nobody:
//     they give it back when they read.
//
// A Socket from which a goroutine waits to read needs no memory for what arrives, and a TLS
// handshake gives back what it holds when it goes on: neither waits.
//
// Whoever finds no room registers, and looks once more under the lock. Whoever gives
// memory back does that first and then, if anybody is registered, takes the lock and
// wakes the first. So either the one sees the room or the other sees it wait.
type ledger struct {
	unsent  atomic.Int64 // written and not sent, bytes
	unread  atomic.Int64 // received and kept for a handler
	kept    atomic.Int64 // received and kept for goroutines, by Sockets and TLS handshakes
	waiters atomic.Int32 // length of waiting
	resets  atomic.Uint64
	logged  seldom // of resets

	mu      sync.Mutex
	waiting list.List[*sched.Task]
}

// A place is one in the ledger's line.
type place = list.Node[*sched.Task]

func (g *Group) bounded() bool { return g.cfg.MaxMemory > 0 }

// Buffered is what all connections together have buffered, in bytes, as
// Config.MaxMemory counts it; 0 without that.
func (g *Group) Buffered() int { return int(g.ledger.own() + g.ledger.kept.Load()) }

// own is what connections themselves have buffered, in bytes.
func (l *ledger) own() int64 { return l.unsent.Load() + l.unread.Load() }

// tight reports whether what can wait has to.
func (g *Group) tight() bool {
	return g.Buffered() > g.cfg.MaxMemory/4*3
}

// awaitMemory reports whether there is memory; else the task is woken when there is.
func (g *Group) awaitMemory(p *place, t *sched.Task) bool {
	if !g.tight() {
		return true // if it stands in the line, its turn is passed on
	}
	l := &g.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.Listed() {
		p.Value = t
		l.waiting.PushBack(p)
		l.waiters.Store(int32(l.waiting.Len()))
	}
	if g.tight() {
		return false
	}
	l.remove(p)
	return true
}

// remove takes a place out of the line. The lock is held.
func (l *ledger) remove(p *place) {
	l.waiting.Remove(p)
	l.waiters.Store(int32(l.waiting.Len()))
}

// passOn wakes the next that waits, if there is memory for it. If there never will be,
// it sees to that.
func (g *Group) passOn() {
	l := &g.ledger
	if l.waiters.Load() == 0 {
		return
	}
	if g.tight() {
		tooMuch := int64(g.cfg.MaxMemory / 4 * 3)
		if l.unsent.Load() == 0 && (l.kept.Load() == 0 || l.unread.Load() > tooMuch) {
			g.shed()
		}
		return
	}
	l.mu.Lock()
	var task *sched.Task
	if next := l.waiting.Front(); next != nil {
		task = next.Value // under the lock: its owner may take a place again at once
		l.remove(next)
	}
	l.mu.Unlock()
	if task != nil {
		task.Wake()
	}
}

// A charge is what a connection has in the ledger. Its mutex guards it.
type charge struct {
	unsent, unread, kept int
	shed                 bool // the connection is to make room for others
}

// book brings the ledger up to date. The connection's mutex is held; without it the
// caller then calls passOn.
func (c *Conn) book(unsent, unread int) {
	if c.extras.charge.shed {
		return // its memory is as good as free
	}
	l, had := &c.group.ledger, c.extras.charge
	c.extras.charge.unsent, c.extras.charge.unread = unsent, unread
	l.unsent.Add(int64(unsent - had.unsent))
	l.unread.Add(int64(unread - had.unread))
}

// bookKept is book for what goroutines hold, with the same lock.
func (c *Conn) bookKept(kept int) {
	if c.extras.charge.shed || kept == c.extras.charge.kept {
		return
	}
	c.group.ledger.kept.Add(int64(kept - c.extras.charge.kept))
	c.extras.charge.kept = kept
}

// starve decides whether the handler may be called with what has come.
func (c *Conn) starve() {
	if c.is(closing | broken) {
		return
	}
	s, isSocket := c.handler.(*Socket)
	shaking := c.is(layered) && !c.extras.layer.ready
	if shaking || isSocket && s.hungry() || c.group.awaitMemory(&c.more().place, &c.task) {
		c.clear(starved)
	} else {
		c.set(starved)
	}
}

// settleMemory is the end of a run: what it has buffered is booked, and if that is too
// much, somebody goes.
func (c *Conn) settleMemory() {
	memory, _ := c.pending()
	unread := len(c.in.own)
	s, isSocket := c.handler.(*Socket)
	if isSocket {
		s.accountFor(unread)
		unread = 0
	}
	kept := 0 // also of one that was a Socket before
	if !isSocket && c.is(layered) {
		kept = c.extras.layer.holds(c) // before c.mu: a handshake holds the layer's lock, then takes c.mu
	}
	c.mu.Lock()
	c.book(c.inbox.unsent()+len(c.queued)+memory+c.early(), unread)
	if !isSocket {
		c.bookKept(kept)
	}
	c.mu.Unlock()
	g := c.group
	if g.ledger.own() >= int64(g.cfg.MaxMemory) {
		g.shed()
	}
	g.passOn() // also when nothing was freed: who was woken passes it on
}

// shed resets the connection that has the most.
func (g *Group) shed() {
	var greediest *Conn
	most := 0
	for e := range g.core.Table.All() {
		c := connOf(e)
		if c == nil {
			continue
		}
		c.mu.Lock()
		n := c.extras.charge.unsent + c.extras.charge.unread
		if c.inbox.closed() {
			n = 0
		}
		c.mu.Unlock()
		if n > most {
			greediest, most = c, n
		}
	}
	if greediest == nil {
		return
	}
	greediest.mu.Lock()
	greediest.book(0, 0)
	greediest.bookKept(0)
	greediest.extras.charge.shed = true
	greediest.mu.Unlock()
	_ = greediest.tell(command{kind: cmdShed})
	if n := g.ledger.resets.Add(1); g.ledger.logged.due() {
		g.cfg.Logger.Warn("conn: MaxMemory is reached: resetting the connection with the most",
			"remote", greediest.remote(), "bytes", most, "times", n)
	}
}

// leaveLine is for a connection or listener that ends.
func (g *Group) leaveLine(p *place) {
	if !g.bounded() {
		return
	}
	g.ledger.mu.Lock()
	g.ledger.remove(p)
	g.ledger.mu.Unlock()
}
