package conn

import (
	"context"
	"errors"
	"log/slog"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/onworker"
	"github.com/suiro-go/suiro/internal/seldom"
	"github.com/suiro-go/suiro/sched"
)

// A Group is the reactors of one runtime, and the listeners and connections
// attached to them. Its methods may be called from any goroutine.
type Group struct {
	root
	core      core.Group
	accepts   accept.Group
	shortages shortages
	refusals  seldom.Limiter // of calls of Streams
}

// A root lets package packet find the engine of a Group, and nobody else.
type root = engine.Root

// NewGroup chooses the backend (see reactor.Select) and makes a runtime of workers that each have a
// reactor. They start with the first use. A group whose sequential handlers or stackful tasks may
// block sets cfg.Reactor.AnyThread, since a Server on the group does not choose its backend.
// rc.NewDriver and rc.AnyThread are ignored. rc.Logger must be nil, since cfg.Logger is for the
// runtime too. io_uring cannot do rc.Unlocked, so another backend is chosen then. If io_uring is
// forced, workers have threads of their own all the same, but do not hold.
//
// In a bubble of testing/synctest the time of the group is real. Its workers and handlers belong to
// the bubble in which the group is first used; until Close the bubble's time stands still.
func NewGroup(cfg Config, rc sched.Config) (*Group, error) {
	if rc.Logger != nil {
		return nil, errors.New("conn: sched.Config.Logger is set; set conn.Config.Logger, which the runtime has too")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Group{}
	g.root = engine.NewRoot(&g.core.Engine)
	g.core.Owner, g.core.Events = g, eventsFor(cfg.Logger)
	g.shortages.watch(&cfg)
	if err := g.core.Open(cfg.settings(), rc); err != nil {
		return nil, err
	}
	g.accepts = accept.Group{Engine: &g.core.Engine, Limits: &g.core.Limits}
	if g.core.Bounded() {
		g.accepts.Memory = &g.core.Budget
	}
	return g, nil
}

// Runtime is the runtime on whose workers the handlers run.
func (g *Group) Runtime() *sched.Runtime { return g.core.Runtime }

// Logger is that of the configuration.
func (g *Group) Logger() *slog.Logger { return g.core.Config.Logger }

// Backend is the name of the backend the group's reactors have.
func (g *Group) Backend() string { return g.core.Config.Reactor.Backend }

// Len is the number of connections that have not ended. Packet sockets count as
// connections, here and in Drain, Shutdown, Abort and Wait.
func (g *Group) Len() int { return g.core.Engine.Census.Len() }

// Abort resets every connection.
func (g *Group) Abort() { g.core.Engine.TellAll(engine.Abort) }

// Wait waits until no connection is left, or until ctx ends, and then returns
// its error; sched.ErrClosed if the workers have stopped, which end connections. On a worker of the
// group it does not wait: the error is sched.ErrBlocksWorker if a connection is left.
func (g *Group) Wait(ctx context.Context) error {
	if g.Len() > 0 {
		if err := onworker.End(g.core.Runtime); err != nil {
			return err
		}
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	return g.core.Engine.Wait(ctx)
}

// Buffered is what all connections together have buffered, in bytes, as
// Config.MaxMemory counts it; 0 without that.
func (g *Group) Buffered() int { return g.core.Budget.Buffered() }

// Close stops the workers. Connections, listeners and packet sockets that are left are abandoned:
// their sockets are closed, and no OnClose is called. Stop ends connections first, as do Abort and
// Wait.
//
// It returns the error that ended a worker early, if one did. If a task does not return within a
// second, the error matches ErrStuck and names the worker. Then the workers end when the task
// returns: Runtime().Done() is closed by then. Close cannot tell a task that takes longer than a
// second from one that never returns. On a worker of the group, Close does nothing and returns
// sched.ErrBlocksWorker.
func (g *Group) Close() error {
	if err := onworker.End(g.core.Runtime); err != nil {
		return err
	}
	return bubble.Call(g.close)
}

func (g *Group) close() error {
	ended := make(chan error, 1)
	go func() { ended <- g.stopWorkers() }()
	err, over := engine.Await(ended, func() bool { return false })
	if !over {
		return g.core.Engine.StuckError(nil)
	}
	return err
}

// groupOf is the Group that users have.
func groupOf(g *core.Group) *Group { return g.Owner.(*Group) }
