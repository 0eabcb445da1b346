package conn

import (
	"context"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
)

// Drain asks every present connection and packet socket to end, by its handler's OnDrain. A dial in
// progress is given up. See Shutdown for the order in which a server ends.
func (g *Group) Drain() { g.core.TellAll(engine.Drain) }

// Shutdown drains in order, and returns when no connection is left:
//
// 1. OnDrain is called for accepted connections and for packet sockets that listen.
// 2. It waits until they have ended. The dialed connections that they need still work.
// 3. OnDrain is called for dialed connections and packet sockets, also those that wait in pools.
// 4. It waits until they have ended.
//
// A connection that is attached later, or gets another handler, is drained as well, after its
// OnOpen. Listeners are to be closed before. If a worker was too busy to end the accept of one,
// Shutdown waits for that, and for the connections that were accepted until then. If ctx ends
// first, Shutdown returns its error and leaves the rest. If the workers stop, it returns
// sched.ErrClosed.
func (g *Group) Shutdown(ctx context.Context) error {
	ctx, release := bubble.Context(ctx)
	defer release()
	for {
		accepting := g.accepts.Closing()
		if err := g.core.Shutdown(ctx); err != nil || !accepting {
			return err
		}
		if err := g.accepts.Wait(ctx); err != nil {
			return err
		}
	}
}

func (g *Group) aborting() bool { return g.core.Aborting() }

// draining reports whether connections of a kind, dialed or not, are to end.
func (g *Group) draining(outbound bool) bool { return g.core.Draining(outbound) }

// Draining reports whether the connection is to end, because Group.Shutdown has begun with
// connections of its kind. It may be true before OnDrain is called. A handler that answers a
// request then can already say that the answer is the last one.
func (c *Conn) Draining() bool { return c.is(drained) || c.group.draining(c.is(outbound)) }

// stageBegins is for a connection that is there when a stage begins; the end of work tells
// its handler.
func (c *Conn) stageBegins() {
	switch {
	case !c.group.draining(c.is(outbound)):
	case !c.is(opened):
		_ = c.Close()
	case c.is(closing) && c.extras != nil && c.extras.clock.Lingers():
		c.shortenLinger()
	}
}

// drain tells the handler.
func (c *Conn) drain() {
	switch {
	case c.group.aborting():
		c.Abort()
	case !c.is(opened):
		_ = c.Close()
	case !c.is(closing | broken):
		c.set(drained)
		c.handler.OnDrain(c)
		c.detach()
	case !c.is(broken): // its handler has closed it
		c.set(drained)
		if c.extras != nil && c.extras.clock.Lingers() {
			c.shortenLinger()
		}
	}
}
