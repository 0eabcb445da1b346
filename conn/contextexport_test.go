package conn

import "github.com/suiro-go/suiro/internal/core"

// Contexts is the number of connections with a context that has not ended.
func (g *Group) Contexts() int {
	n, _ := g.core.Kept()
	return n
}

// Idle is a connection that does nothing.
func Idle(g *Group) *Conn { return users(core.NewConn(&g.core, -1, untold{})) }

// DropContext forgets the context of the connection, as its end does.
func (c *Conn) DropContext() { c.core.DropContext(nil) }

// Tokens is the number of connections with a token of sched.Context.Draining.
func (g *Group) Tokens() int {
	_, n := g.core.Kept()
	return n
}
