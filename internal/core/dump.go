package core

import (
	"github.com/suiro-go/suiro/internal/dumptext"
	"github.com/suiro-go/suiro/internal/engine"
)

// mostDumped bounds the connections and sockets that a report lists.
const mostDumped = 200

// Dump adds all connections, listeners and sockets to a report. Any goroutine may call it, also
// while workers are stuck.
func (g *Group) Dump(text *dumptext.Text) {
	text.Linef(0, "group on %s: %d connections, %d bytes buffered (MaxMemory %d), %d reset for want of memory, %d handler errors, %d handler panics",
		g.Config.Reactor.Backend, g.Engine.Census.Len(), g.Budget.Buffered(), g.Config.MaxMemory, g.resets.Load(),
		g.Engine.HandlerErrors(), g.Engine.HandlerPanics())
	all, ok := g.Engine.Table.AllNow(text)
	if !ok {
		text.Linef(1, "connections: busy")
		return
	}
	listed, more := 0, 0
	for e := range all {
		if listed++; listed > mostDumped {
			more++
			continue
		}
		if c := ConnOf(e); c != nil {
			c.dump(text)
		} else if d, ok := e.Target.(engine.Dumper); ok {
			d.Dump(text)
		} else {
			text.Linef(1, "%#x %T", e.Token, e.Target)
		}
	}
	if more > 0 {
		text.Linef(1, "... and %d more", more)
	}
}

// dump adds the connection. Fields that only its task may read are read if the task waits. The
// flags are read in any case: they are single words, so at worst they are a little old.
func (c *Conn) dump(text *dumptext.Text) {
	life, reading, fd := c.flagsNow()
	if !text.Lock(&c.Mu) { // a panic may have left it locked
		text.Linef(1, "%#x fd %d busy; flags %v reading %v", c.Endpoint.Token, fd, life, reading)
		return
	}
	in, o := &c.Inbox, c.Inbox.Rest()
	if o == nil {
		o = new(queueRest)
	}
	handler, remote, traffic := c.Handler, c.RemoteAddr(), c.traffic()
	// The inbox comes first: the task may lock it.
	inbox := []any{in.Chunks(), in.Commands(), in.Signs(), in.RecvErrno(), in.Closed(), in.Right.Holder(), in.Right.IsQueued(), in.Right.Tells(), len(o.flight), o.sent}
	c.Mu.Unlock()
	state, unread, queued := "its task runs or is queued", 0, 0
	if c.Group.Runtime.Inspect(&c.Task, func() {
		if l := c.pendingWork; l != nil {
			unread, queued = len(l.In.Unread), len(l.Out.Queued)
		}
	}) {
		state = "its task waits"
	}
	text.Linef(1, "%#x fd %d %s of %v: %s; in %d, out %d, unsent %d; flags %v reading %v", c.Endpoint.Token, fd, NameOf(handler), remote, state,
		traffic.Received, traffic.Sent, traffic.Unsent, life, reading)
	text.Linef(2, "unread %d, queued %d; inbox: %d chunks, %d commands, signs %#b, recv errno %v, closed %v; right: held by %d, queued %v, tells %v; in flight %d, sent %d",
		append([]any{unread, queued}, inbox...)...)
}

// flagsNow reads words that only the task may read, perhaps beside it. Each is read whole.
//
//go:norace
func (c *Conn) flagsNow() (life Flags, reading ReadFlags, fd int) {
	return c.flags, c.Reading, c.Endpoint.FD
}

// Kept is the number of connections with a context that has not ended, and of those with a token of
// sched.Context.Draining.
func (g *Group) Kept() (contexts, tokens int) {
	g.contexts.mu.Lock()
	contexts = len(g.contexts.m)
	g.contexts.mu.Unlock()
	g.tokens.mu.Lock()
	defer g.tokens.mu.Unlock()
	return contexts, len(g.tokens.m)
}
