package conn

import (
	"errors"
	"time"

	"github.com/suiro-go/suiro/internal/ledger"
)

// ErrShed ends a connection that used the most when Config.MaxMemory was reached.
var ErrShed = errors.New("conn: shed: the connections' buffers had reached MaxMemory, and this one had the most")

// Connections book their buffers in their group's ledger, if MaxMemory bounds them. Two kinds of
// input do not wait for memory. A Socket from which a goroutine waits to read needs none for it. A
// TLS handshake that has begun frees memory when it goes on.

func (g *Group) bounded() bool { return g.cfg.MaxMemory > 0 }

// Buffered is what all connections together have buffered, in bytes, as
// Config.MaxMemory counts it; 0 without that.
func (g *Group) Buffered() int { return g.ledger.Buffered() }

// passOn is for memory that was given back, without any lock of a connection.
func (g *Group) passOn() {
	if g.ledger.PassOn() {
		g.shed()
	}
}

// starve decides whether the handler may be called with received bytes.
func (c *Conn) starve() {
	if c.is(closing | broken) {
		return
	}
	if c.filter().underWay() || c.consumer().hungry() || c.group.ledger.Await(&c.more().place, &c.task) {
		c.reading.clear(starved)
	} else {
		c.reading.set(starved)
	}
}

// settleMemory is the end of a run. It books the connection's buffers. If the sum is too large, a
// connection is reset.
func (c *Conn) settleMemory() {
	memory, _ := c.pending()
	unread := c.in.Kept()
	booked := c.consumer().books(unread)
	if booked {
		unread = 0
	}
	kept := 0 // also of one that was a Socket before
	if !booked {
		kept = c.filter().holds()
	}
	c.mu.Lock()
	g := c.group
	g.ledger.Book(&c.extras.charge, c.inbox.unsent()+len(c.out.Queued)+memory+c.filter().early(), unread)
	if !booked {
		g.ledger.Keep(&c.extras.charge, kept)
	}
	c.mu.Unlock()
	if g.ledger.Full() {
		g.shed()
	}
	g.passOn() // also when nothing was freed: a task that was woken passes it on
}

// shed resets the connection with the largest buffers.
func (g *Group) shed() {
	var greediest *Conn
	most := 0
	for e := range g.core.Table.All() {
		c := connOf(e)
		if c == nil {
			continue
		}
		c.mu.Lock()
		n := c.extras.charge.Own()
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
	g.ledger.Shed(&greediest.extras.charge)
	greediest.mu.Unlock()
	_ = greediest.tell(command{kind: cmdShed})
	if n := g.resets.Add(1); g.resetsLogged.Pass(time.Now()) {
		g.cfg.Logger.Warn("conn: MaxMemory is reached: resetting the connection with the most",
			"remote", greediest.remote(), "bytes", most, "times", n)
	}
}

// leaveLine is for a connection that ends.
func (g *Group) leaveLine(p *ledger.Place) {
	if g.bounded() {
		g.ledger.Leave(p)
	}
}

// mayQueue reports whether a connection with that much unsent may queue more. Below
// HighWater it always may, and nothing that the workers share is touched.
func (g *Group) mayQueue(unsent int) bool {
	return unsent < g.cfg.HighWater ||
		unsent < g.cfg.MaxWrite && g.excess.Load() < int64(g.cfg.MaxWriteTotal)
}

// reckon updates the group's excess to the connection's bytes above HighWater. It is called at each
// change of those under the connection's lock, which is held. A connection that is torn down has no
// excess, even with bytes in flight.
func (in *inbox) reckon(g *Group) {
	if in.mail == nil {
		return
	}
	now := 0
	if !in.closed() {
		now = max(0, in.waits()-g.cfg.HighWater)
	}
	if now != in.excess {
		g.excess.Add(int64(now - in.excess))
		in.excess = now
	}
}
