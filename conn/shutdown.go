package conn

import (
	"context"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/onworker"
)

// Drain asks every present connection and packet socket to end, by its handler's OnDrain. A dial in
// progress is given up. See Shutdown for the order in which a server ends.
func (g *Group) Drain() { g.core.Engine.TellAll(engine.Drain) }

// Shutdown cancels Runtime().Draining(), drains in order, and returns when no connection is left:
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
// sched.ErrClosed. On a worker of the group it does nothing and returns sched.ErrBlocksWorker.
func (g *Group) Shutdown(ctx context.Context) error { return g.shutdown(ctx, g.core.Engine.Shutdown) }

// ShutdownServed is steps 1 and 2 of Shutdown, for a program that has more to do before dialed
// connections end: that awaits tasks which use them. Shutdown comes after it.
func (g *Group) ShutdownServed(ctx context.Context) error {
	return g.shutdown(ctx, g.core.Engine.ShutdownServed)
}

func (g *Group) shutdown(ctx context.Context, shutdown func(context.Context) error) error {
	if err := onworker.End(g.core.Runtime); err != nil {
		return err
	}
	g.core.Runtime.Draining().Cancel()
	ctx, release := bubble.Context(ctx)
	defer release()
	for {
		accepting := g.accepts.Closing()
		if err := shutdown(ctx); err != nil || !accepting {
			return err
		}
		if err := g.accepts.Wait(ctx); err != nil {
			return err
		}
	}
}
