package conn

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/ledger"
	"github.com/suiro-go/suiro/internal/placement"
	"github.com/suiro-go/suiro/internal/seldom"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Group is the reactors of one runtime, and the listeners and connections
// attached to them. Its methods may be called from any goroutine.
type Group struct {
	root
	core engine.Group // what connections share with datagrams
	cfg  Config
	rt   *sched.Runtime // core's

	limits       admission.Limits
	accepts      accept.Group
	pipes        sock.Pipes
	ledger       ledger.Ledger // what connections buffer, with MaxMemory alone
	resets       atomic.Uint64 // for want of memory
	resetsLogged seldom.Gate
	ration       *bufs.Ration // of the buffer pools; nil: MaxMemory is not set
	excess       atomic.Int64 // queued above HighWater by all connections, bytes; see reckon
	placement    *placement.Placement

	sockets    sync.Once // for watchSockets
	completes  bool      // the reactor acts on a submission only in its next Poll: io_uring
	readsFirst bool      // tasks read data that arrived with a new connection, see readFirst
	bulk       bulkReads

	forGoroutines bool // the workers share threads with goroutines, or would if the backend could

	shortages shortages
}

// A root lets package packet find the engine of a Group, and nobody else.
type root = engine.Root

// NewGroup chooses the backend (see reactor.Select) and makes a runtime of workers that each have a
// reactor. They start with the first use. rc.NewDriver is ignored. io_uring cannot do rc.Unlocked,
// so another backend is chosen then. If io_uring is forced, workers have threads of their own all
// the same, but do not hold.
//
// In a bubble of testing/synctest the time of the group is real. Its workers and handlers belong to
// the bubble in which the group is first used; until Close the bubble's time stands still.
func NewGroup(cfg Config, rc sched.Config) (*Group, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	rc.Unlocked = rc.Unlocked || cfg.Reactor.Unlocked
	forGoroutines := rc.Unlocked
	cfg.Reactor.Unlocked = rc.Unlocked
	chosen, err := reactor.Select(cfg.Reactor, cfg.Logger)
	if rc.Unlocked && errors.Is(err, errors.ErrUnsupported) {
		// as good as that backend can do
		rc.Unlocked, rc.Hold, cfg.Reactor.Unlocked = false, -1, false
		chosen, err = reactor.Select(cfg.Reactor, cfg.Logger)
	}
	if err != nil {
		return nil, err
	}
	cfg.Reactor = chosen
	g := &Group{cfg: cfg, pipes: sock.Pipes{Most: cfg.MaxPipes}, forGoroutines: forGoroutines}
	g.limits.Most, g.limits.PerSource, g.limits.Waits = cfg.MaxConns, cfg.MaxPerSource, cfg.Overflow == Wait
	g.ledger.Max = cfg.MaxMemory
	g.accepts = accept.Group{Engine: &g.core, Limits: &g.limits}
	if g.bounded() {
		g.accepts.Memory = &g.ledger
	}
	g.root = engine.NewRoot(&g.core)
	g.shortages.watch(&g.cfg)
	rc.NewDriver = func(worker int) (sched.Driver, error) {
		d, err := newDriver(g, worker)
		if err != nil {
			return nil, err
		}
		g.core.Drivers[worker].Store(d.Engine())
		return d, nil
	}
	if rc.Logger == nil {
		rc.Logger = cfg.Logger
	}
	g.completes = cfg.Reactor.Backend == "io_uring"
	g.readsFirst = (g.completes || cfg.Reactor.Backend == "epoll") && !g.bounded()
	g.bulk = newBulkReads(cfg.Reactor.Backend, cfg.Reactor.Buffers*cfg.Reactor.BufferSize)
	g.core.Config = engine.Config{Reactor: cfg.Reactor, MaxWrite: cfg.MaxWrite, MaxRead: cfg.MaxRead, Linger: cfg.Linger, Logger: cfg.Logger, Virtual: rc.Paused}
	// its time is real: its drivers wait in the kernel
	g.rt = bubble.Call(func() *sched.Runtime { return sched.New(rc) })
	g.core.RT = g.rt
	g.placement = placement.New(placement.Policy(cfg.Placement), g.rt.Workers(), &g.core)
	g.core.Drivers = make([]atomic.Pointer[engine.Driver], g.rt.Workers())
	if g.bounded() {
		g.ration = bufs.NewRation(cfg.MaxMemory, g.rt.Workers(), g.ledger.Own)
	}
	return g, nil
}

// Runtime is the runtime on whose workers the handlers run.
func (g *Group) Runtime() *sched.Runtime { return g.rt }

// Logger is that of the configuration.
func (g *Group) Logger() *slog.Logger { return g.cfg.Logger }

// Backend is the name of the backend the group's reactors have.
func (g *Group) Backend() string { return g.cfg.Reactor.Backend }

// Len is the number of connections that have not ended. Packet sockets count as
// connections, here and in Drain, Shutdown, Abort and Wait.
func (g *Group) Len() int { return g.core.Census.Len() }

// Abort resets every connection.
func (g *Group) Abort() { g.core.TellAll(engine.Abort) }

// Wait waits until no connection is left, or until ctx ends, and then returns
// its error; sched.ErrClosed if the workers have stopped, which end connections.
func (g *Group) Wait(ctx context.Context) error {
	ctx, release := bubble.Context(ctx)
	defer release()
	return g.core.Wait(ctx)
}

// beginsOn counts a new connection as one of a worker.
func (g *Group) beginsOn(c *Conn, worker int) {
	c.begun = uint16(worker)
	g.placement.Begin(worker)
}

// start has a new connection's task run first on a worker. d is the caller's.
func (g *Group) start(d *driver, c *Conn, at int) {
	if at != d.Cx.Worker() {
		c.task.WakeOn(at)
	} else {
		d.Cx.Wake(c.task.Waker())
	}
}

func (g *Group) leave(c *Conn) {
	g.placement.End(int(c.begun))
	if !c.is(outbound) {
		g.limits.Leave(c.peer)
	}
	g.core.Census.Leave(c.is(outbound))
	if g.ration != nil && g.core.Census.Len() == 0 {
		g.ration.Drop()
	}
}

// Close stops the workers. Connections and listeners that are left are abandoned: Stop ends
// connections first, as do Abort and Wait.
//
// It returns the error that ended a worker early, if one did. If a task does not return within a
// second, the error matches ErrStuck and names the worker. Then the workers end when the task
// returns: Runtime().Done() is closed by then. Close cannot tell a task that takes longer than a
// second from one that never returns.
func (g *Group) Close() error { return bubble.Call(g.close) }

func (g *Group) close() error {
	ended := make(chan error, 1)
	go func() { ended <- g.stopWorkers() }()
	err, over := engine.Await(ended, func() bool { return false })
	if !over {
		return g.core.StuckError(nil)
	}
	return err
}
