package conn

import (
	"context"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/onworker"
)

// ErrStuck is matched by errors of Group.Stop, Group.Close and Listener.Close, and of a Server's
// Shutdown and Close. They left something because a handler does not return.
var ErrStuck = engine.ErrStuck

// Stop ends the group at once: listeners are closed and every connection is reset. From then on a
// dial, and a new listener, is refused with an error that matches net.ErrClosed. When the last
// OnClose has returned, the workers stop.
//
// It waits for handlers until ctx ends, and goes on for as long as the number of connections falls
// within each second. Then it returns an error that matches ErrStuck, and names the rest:
// connections, and workers with a handler that does not return. Packet sockets receive nothing more
// by then, and their ports are free. On Windows the handler has to return first. Memory that a
// stuck worker may still use is not freed. If its handler returns later, all of it ends then, in
// the background. On a worker of the group, Stop does nothing and returns sched.ErrBlocksWorker.
//
// The error matches that of ctx, unless the cause of ctx (context.Cause) is ErrStuck. With that
// cause the caller says that there never was a time for the handlers.
func (g *Group) Stop(ctx context.Context) error {
	if err := onworker.End(g.core.Runtime); err != nil {
		return err
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	return bubble.Call(func() error { return g.stop(ctx) })
}

func (g *Group) stop(ctx context.Context) error {
	g.core.Runtime.Draining().Cancel()
	g.core.Engine.AbortAll()
	ended := make(chan error, 1)
	closing := g.accepts.CloseAll()
	go func() {
		closing.Wait()
		_ = g.Wait(context.Background())
		ended <- g.stopWorkers()
	}()
	left := g.Len()
	err, over := engine.Await(ended, func() bool {
		// Only a number lower than all before is progress: what joins and leaves is none.
		n := g.Len()
		fewer := n < left || ctx.Err() == nil
		if fewer {
			left = n
		}
		return fewer
	})
	if over {
		return err
	}
	g.core.Engine.TellAll(engine.Sever)
	why := ctx.Err()
	if context.Cause(ctx) == ErrStuck {
		why = nil // a Server's Close, which has no context
	}
	return g.core.Engine.StuckError(why)
}

func (g *Group) stopWorkers() error {
	_ = g.accepts.Wait(context.Background())
	g.core.EndContexts()
	err := g.core.Runtime.Close()
	g.core.AbandonAll()
	g.accepts.CloseAll().Wait()
	g.accepts.Finish()
	g.core.Pipes.Close()
	return err
}
