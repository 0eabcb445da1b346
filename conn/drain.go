package conn

import (
	"context"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
)

// Drain tells every connection and packet socket that there is now, through its handler's
// OnDrain, that it should come to an end. A dial in progress is given up. See Shutdown for
// the order in which a server ends.
func (g *Group) Drain() { g.core.TellAll(engine.Drain) }

// Shutdown drains in order, and returns when no connection is left:
//
//  1. Connections that were accepted, and packet sockets that listen, are told by OnDrain.
//  2. It waits until they have ended. What they need of dialled connections still works.
//  3. Dialled connections and packet sockets are told, also those that wait in pools.
//  4. It waits until they have ended.
//
// What is attached, or gets another handler, after its kind was told is told as well, after
// its OnOpen. Listeners are to be closed before. If a worker was too busy to end the accept of
// one, Shutdown waits for that as well, and for the connections that were accepted until then.
// If ctx ends first, Shutdown returns its error and leaves what is left; if the workers stop,
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

// draining reports whether what was dialled, or what was not, is to come to its end.
func (g *Group) draining(outbound bool) bool { return g.core.Draining(outbound) }

// Draining reports whether the connection is to come to its end, because Group.Shutdown has
// begun with connections of its kind. It may be true before OnDrain is called: a handler that
// answers a request then can already say that the answer is the last one.
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
