package core

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/debuglog"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/membudget"
	"github.com/suiro-go/suiro/internal/placement"
	"github.com/suiro-go/suiro/internal/receive"
	"github.com/suiro-go/suiro/internal/seldom"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Group is what the connections of one runtime share.
type Group struct {
	Engine  engine.Group // what connections share with datagrams
	Config  Config
	Runtime *sched.Runtime // the engine's
	Events  Events
	Owner   any           // package conn's Group
	Calls   reactor.Calls // that connections make beside their operations

	Dials        *engine.Origin // of dialed connections
	Limits       admission.Limits
	Pipes        sock.Pipes
	Budget       membudget.Budget // what connections buffer, with MaxMemory alone
	resets       atomic.Uint64    // for want of memory
	resetsLogged seldom.Limiter
	ration       *bufs.Ration // of the buffer pools; nil: MaxMemory is not set
	Excess       atomic.Int64 // queued above HighWater by all connections, bytes; see reckon
	Placement    *placement.Placement

	ends       sync.Once     // for WatchEnd
	abandoned  chan struct{} // WatchEnd has abandoned all that were left
	Completes  bool          // the reactor acts on a submission only in its next Poll: io_uring
	SendsFirst bool          // tasks send what they have queued themselves, see sendQueue
	ReadsFirst bool          // tasks read data that arrived with a new connection, see readFirst

	Reads, PipeReads, CopyReads receive.Policy // see policies

	forGoroutines bool // the workers share threads with goroutines, or would if the backend could

	debugIO *slog.Logger // of SUIRO_DEBUG=io; nil: none

	contexts contexts
	tokens   drainTokens
}

// Open chooses the backend and makes the runtime, see NewGroup of package conn.
func (g *Group) Open(cfg Config, rc sched.Config) error {
	rc.Unlocked = rc.Unlocked || cfg.Reactor.Unlocked
	g.forGoroutines = rc.Unlocked
	cfg.Reactor.Unlocked = rc.Unlocked
	chosen, err := reactor.Select(cfg.Reactor, cfg.Logger)
	if rc.Unlocked && errors.Is(err, errors.ErrUnsupported) {
		// as good as that backend can do
		rc.Unlocked, rc.Hold, cfg.Reactor.Unlocked = false, -1, false
		chosen, err = reactor.Select(cfg.Reactor, cfg.Logger)
	}
	if err != nil {
		return err
	}
	if cfg.Reactor.Backend == "" && os.Getenv(reactor.EnvBackend) == "" {
		chosen, err = fitting(chosen, cmp.Or(rc.Workers, runtime.GOMAXPROCS(0)), cfg)
		if err != nil {
			return err
		}
	}
	cfg.Reactor = chosen
	g.abandoned = bubble.Chan[struct{}](0)
	g.Config, g.Calls, g.Pipes.Most = cfg, reactor.NewCalls(chosen), cfg.MaxPipes
	g.Limits.Most, g.Limits.PerSource, g.Limits.Waits = cfg.MaxConns, cfg.MaxPerSource, cfg.Waits
	g.Budget.Max = cfg.MaxMemory
	g.contexts.base, g.contexts.with = cfg.BaseContext, cfg.ConnContext
	rc.NewDriver = func(worker int) (sched.Driver, error) {
		d, err := newDriver(g, worker)
		if err != nil {
			return nil, err
		}
		g.Engine.Drivers[worker].Store(d.Engine())
		return d, nil
	}
	rc.Logger, g.debugIO = cfg.Logger, debuglog.For(debuglog.IO, cfg.Logger)
	rc.AnyThread = !reactor.NeedsThread(cfg.Reactor.Backend)
	g.Completes = cfg.Reactor.Backend == "io_uring"
	g.SendsFirst = !g.Completes
	g.ReadsFirst = (g.Completes || cfg.Reactor.Backend == "epoll") && !g.Bounded()
	g.Reads, g.PipeReads, g.CopyReads = policies(&g.Config)
	g.Engine.Config = engine.Config{Reactor: cfg.Reactor, MaxWrite: cfg.MaxWrite, MaxRead: cfg.MaxRead, Linger: cfg.LingerTimeout, Logger: cfg.Logger, Virtual: rc.Paused}
	// its time is real: its drivers wait in the kernel
	g.Runtime = bubble.Call(func() *sched.Runtime { return sched.New(rc) })
	g.Engine.RT = g.Runtime
	g.Dials = g.Engine.DialOrigin(engine.Dialed)
	g.Placement = placement.New(cfg.Placement, g.Runtime.Workers(), &g.Engine)
	g.Engine.Drivers = make([]atomic.Pointer[engine.Driver], g.Runtime.Workers()+g.Runtime.Spares())
	if g.Bounded() {
		g.ration = bufs.NewRation(cfg.MaxMemory, g.Runtime.Workers()+g.Runtime.Spares(), g.Budget.Own)
	}
	return nil
}

// fitting returns the chosen backend, or epoll if the limit on lockable memory refuses the workers'
// rings. reactor.Select tries a single small one. Linux counts rings against that limit for users
// without CAP_IPC_LOCK: before 5.12, and again in late versions.
func fitting(chosen reactor.Config, workers int, cfg Config) (reactor.Config, error) {
	if chosen.Backend != "io_uring" {
		return chosen, nil
	}
	err := bubble.Call(func() error { return openAll(chosen, workers) })
	if !errors.Is(err, syscall.ENOMEM) { // of another error the start tells
		return chosen, nil
	}
	cfg.Reactor.Backend = "epoll"
	other, failed := reactor.Select(cfg.Reactor, cfg.Logger)
	if failed != nil {
		return chosen, errors.Join(err, failed)
	}
	if cfg.Logger != nil {
		cfg.Logger.Warn("reactor: fell back", "backend", other.Backend, "workers", workers, "reason", err.Error())
	}
	return other, nil
}

// openAll opens so many reactors at a time, and closes them.
func openAll(cfg reactor.Config, n int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range n {
		r, err := reactor.Open(cfg)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
	}
	return nil
}

// BeginsOn counts a new connection as one of a worker.
func (g *Group) BeginsOn(c *Conn, worker int) {
	c.Begun = uint16(worker)
	g.Placement.Begin(worker)
}

// Start runs the task of a new connection for the first time, on a worker. d is the caller's.
func (g *Group) Start(d *Driver, c *Conn, at int) {
	if at != d.Cx.Worker() {
		c.Task.WakeOn(at)
	} else {
		d.Cx.Wake(c.Task.Waker())
	}
}

func (g *Group) leave(c *Conn) {
	g.Placement.End(int(c.Begun))
	if !c.Is(Outbound) {
		g.Limits.Leave(c.Peer())
	}
	g.Engine.Census.Leave(c.Is(Outbound))
	if g.ration != nil && g.Engine.Census.Len() == 0 {
		g.ration.Drop()
	}
}
