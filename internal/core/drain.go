package core

import (
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

var _ sched.Drainer = (*connTask)(nil)

func (g *Group) Aborting() bool { return g.Engine.Aborting() }

// Draining reports whether connections of a kind, dialed or not, are to end.
func (g *Group) Draining(outbound bool) bool { return g.Engine.Draining(outbound) }

// Draining is Conn.Draining of package conn.
func (c *Conn) Draining() bool { return c.Is(Drained) || c.Group.Draining(c.Is(Outbound)) }

// stageBegins is for a connection that is there when a stage begins; the end of work tells
// its handler.
func stageBegins(c *Conn) {
	switch {
	case !c.Group.Draining(c.Is(Outbound)):
	case !c.Is(Opened):
		_ = c.Close()
	case c.Is(Closing) && c.Extras != nil && c.Extras.Clock.Lingers():
		c.Extras.Clock.shorten(c)
	}
}

// drain tells the handler.
func (c *Conn) drain() {
	switch {
	case c.Group.Aborting():
		c.Abort()
	case !c.Is(Opened):
		_ = c.Close()
	case !c.Is(Closing | Broken):
		c.Set(Drained)
		c.Group.tokens.cancel(c, false)
		c.Group.Events.OnDrain(c)
		c.detach()
	case !c.Is(Broken): // its handler has closed it
		c.Set(Drained)
		if c.Extras != nil && c.Extras.Clock.Lingers() {
			c.Extras.Clock.shorten(c)
		}
	}
}

// TaskDraining implements sched.Drainer: sched.Context.Draining in a function of the connection is
// a token of its own. It is canceled with that of the runtime, before OnDrain, and when the
// connection has ended. So on a group that several servers share it is canceled when its own server
// shuts down.
func (t *connTask) TaskDraining() *sched.CancellationToken {
	c := (*Conn)(t)
	token := c.Group.tokens.of(c)
	if c.Draining() || c.Is(Closing|Broken) {
		token.Cancel()
	}
	return token
}

// drainTokens are the tokens of a group's connections, each made when a function asks for it. They
// are found by the connection, so that connections without one have no room for it.
type drainTokens struct {
	some atomic.Bool // m has entries
	mu   sync.Mutex
	m    map[*Conn]*sched.CancellationToken
}

// of is the connection's token, for its task.
func (ts *drainTokens) of(c *Conn) *sched.CancellationToken {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	token := ts.m[c]
	if token == nil {
		if ts.m == nil {
			ts.m = make(map[*Conn]*sched.CancellationToken)
		}
		token = c.Group.Runtime.Draining().Child()
		ts.m[c] = token
		ts.some.Store(true)
	}
	return token
}

// cancel cancels the token of a connection, for its task. over: the connection is, and needs no
// other.
func (ts *drainTokens) cancel(c *Conn, over bool) {
	if !ts.some.Load() { // true while this connection has one: its task has seen to that
		return
	}
	ts.mu.Lock()
	token := ts.m[c]
	if over {
		delete(ts.m, c)
		ts.some.Store(len(ts.m) > 0)
	}
	ts.mu.Unlock()
	if token != nil {
		token.Cancel()
	}
}
