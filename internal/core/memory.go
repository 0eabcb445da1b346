package core

import (
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/membudget"
)

// ErrShed ends a connection that used the most when Config.MaxMemory was reached.
var ErrShed = engine.ErrShed

// Connections count their buffers in their group's memory budget if MaxMemory is set. Two
// kinds of input do not wait for memory. A Socket from which a goroutine waits to read needs none
// for it. A TLS handshake that has begun frees memory when it goes on.

func (g *Group) Bounded() bool { return g.Config.MaxMemory > 0 }

// MemoryFreed is called after memory was freed, without a lock of any connection.
func (g *Group) MemoryFreed() {
	if g.Budget.WakeNext() {
		g.Shed()
	}
}

// starve decides whether the handler may be called with received bytes.
func (r *reader) starve() {
	c := r.c
	if c.Is(Closing | Broken) {
		return
	}
	if c.Filter().underWay() || c.readers != nil && c.readers.Hungry() || c.Group.Budget.Await(&c.More().place, &c.Task) {
		if c.Reading.Is(starved) {
			c.Reading.Clear(starved)
			peersTurn(c)
		}
	} else {
		c.Reading.Set(starved)
	}
}

// settleMemory is the end of a run. It counts the connection's buffers. If the sum is too large, a
// connection is reset.
func (c *Conn) settleMemory() {
	memory, _ := c.Pending()
	unread := c.In.Kept()
	counted := c.readers != nil
	if counted {
		c.readers.CountUnread(unread)
		unread = 0
	}
	kept := 0 // also of one that was a Socket before
	if !counted {
		kept = c.Filter().holds()
	}
	c.Mu.Lock()
	g := c.Group
	g.Budget.Set(&c.Extras.Usage, c.Inbox.unsent()+len(c.Out.Queued)+memory+c.Filter().early(), unread)
	if !counted {
		g.Budget.SetForGoroutines(&c.Extras.Usage, kept)
	}
	c.Mu.Unlock()
	if g.Budget.Full() {
		g.Shed()
	}
	g.MemoryFreed() // also if nothing was freed: a woken task wakes the next one
}

// KeepForGoroutines notes how many bytes a Socket keeps for its goroutines. It reports what
// membudget.Budget.SetForGoroutines does.
func (c *Conn) KeepForGoroutines(bytes int) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Group.Budget.SetForGoroutines(&c.Extras.Usage, bytes)
}

// Shed makes the connection with the largest buffers reset itself. It may be called under a
// driver's lock, so the connection's task writes the log.
func (g *Group) Shed() {
	var greediest *Conn
	most := 0
	for e := range g.Engine.Table.All() {
		c := ConnOf(e)
		if c == nil {
			continue
		}
		c.Mu.Lock()
		n := c.Extras.Usage.Own()
		if c.Inbox.Closed() {
			n = 0
		}
		c.Mu.Unlock()
		if n > most {
			greediest, most = c, n
		}
	}
	if greediest == nil {
		return
	}
	greediest.Mu.Lock()
	g.Budget.Shed(&greediest.Extras.Usage)
	greediest.Mu.Unlock()
	_ = greediest.Tell(Command{Kind: CmdInner, What: func(c *Conn) { g.shedOne(c, most) }}) // it may have ended
}

// shedOne resets a connection, on its task.
func (g *Group) shedOne(c *Conn, bytes int) {
	if n := g.resets.Add(1); g.resetsLogged.Pass(time.Now()) {
		g.Config.Logger.Warn("conn: MaxMemory is reached: resetting the connection with the most",
			"remote", c.RemoteAddr(), "bytes", bytes, "times", n)
	}
	c.FailWrite(c.OpError("write", ErrShed))
}

// leaveLine is for a connection that ends.
func (g *Group) leaveLine(p *membudget.Waiter) {
	if g.Bounded() {
		g.Budget.Cancel(p)
	}
}

// Resets is the number of connections that were reset for want of memory.
func (g *Group) Resets() uint64 { return g.resets.Load() }

// mayQueue reports whether a connection with that much unsent may queue more. Below
// HighWater it always may, and nothing that the workers share is touched.
func (g *Group) mayQueue(unsent int) bool {
	return unsent < g.Config.HighWater ||
		unsent < g.Config.MaxWrite && g.Excess.Load() < int64(g.Config.MaxWriteTotal)
}

// reckon updates the group's excess to the connection's bytes above HighWater. It is called at each
// change of those under the connection's lock, which is held. A connection that is torn down has no
// excess, even with bytes in flight.
func (in *inbox) reckon(g *Group) {
	o := in.Rest()
	if o == nil {
		return
	}
	now := 0
	if !in.Closed() {
		now = max(0, in.waits()-g.Config.HighWater)
	}
	if now != o.excess {
		g.Excess.Add(int64(now - o.excess))
		o.excess = now
	}
}
