package conn

import (
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// PollDoubts is a Poll of a driver that has the worker's doubts, which are due, and a reactor
// without completions. The worker's own driver is left alone: any goroutine may wake it.
func PollDoubts(d *Driver, cx *sched.Context) (int, error) {
	quiet := core.DriverFor(d.Group, d.Worker, silent{d.R})
	quiet.TakeDoubts(d.Engine())
	return quiet.Poll(cx, 0, false)
}

// A silent reactor has no completions.
type silent struct{ reactor.Reactor }

func (silent) Poll([]reactor.Completion, time.Duration, bool) (int, error) { return 0, nil }

// Slot is the table slot a handle names, and its generation.
func (h Handle) Slot() (index, generation uint32) {
	return h.core.Token.Index(), h.core.Token.Generation()
}

// FD is the descriptor of the connection a handle names.
func (h Handle) FD() int { return h.core.Group.Engine.Table.Get(h.core.Token).FD }

// Move makes the connection's task run on another worker from its next run on. It
// is for the handler: while the task runs, nobody looks where it is to run.
func (c *Conn) Move(worker int) {
	c.core.Task.Pin(worker)
}

// Move is Conn.Move for a function of a handler's Stream.
func (s *Stream) Move(worker int) { s.c.Task.Pin(worker) }

// Begun is how many live connections began on each worker.
func (g *Group) Begun() (n []int) {
	for i := range g.core.Runtime.Workers() {
		n = append(n, g.core.Placement.Begun(i))
	}
	return n
}

// Waits reports whether connections wait for room.
func (l *Listener) Waits() bool { return l.socket.State().Spare > 0 }

// InLine reports whether the listener waits for memory.
func (l *Listener) InLine() bool { return l.socket.State().InLine }

// PipesUsed is how many pipes are in use.
func (g *Group) PipesUsed() int { return g.core.Pipes.Used() }

// Home is the worker through whose reactor the connection receives.
func (c *Conn) Home() int {
	return c.core.Home.Worker
}

// Begun is the worker on which the connection began.
func (h Handle) Begun() int { return int(h.core.Conn().Begun) }

// ReadFiles makes the connection read and write the queued files.
func (c *Conn) ReadFiles() {
	for f := range c.core.Out.All() {
		f.Plain = true
	}
}

// ClosingMayBlock reports whether the close of the descriptor is a system call that Go's scheduler
// knows of.
func (c *Conn) ClosingMayBlock() bool {
	return !c.core.Is(core.NonblockingClose)
}

// Excess is what all connections have queued above HighWater, in bytes.
func (g *Group) Excess() int64 { return g.core.Excess.Load() }

// Defaults is what a Config with nothing set means.
func Defaults() Config {
	cfg, err := Config{}.withDefaults()
	if err != nil {
		panic(err)
	}
	return cfg
}

// Stopping reports whether Stop has begun.
func (g *Group) Stopping() bool { return g.core.Aborting() }

// FD is the listener's descriptor.
func (l *Listener) FD() int { return l.socket.State().FD }

// Closing reports whether Close was called.
func (l *Listener) Closing() bool { return l.socket.State().Closed }

// StuckError is what Close returns if the descriptor cannot be closed.
func (l *Listener) StuckError() error { return l.socket.StuckError() }

// FlagStrings is what each bit of both kinds of flags prints, the receive policy's state excepted.
func FlagStrings() (life, reading []string) {
	for bit := core.Flags(1); bit != 0; bit <<= 1 {
		life = append(life, bit.String())
	}
	for bit := core.ReadFlags(1); bit < 1<<core.StateShift; bit <<= 1 {
		reading = append(reading, bit.String())
	}
	return life, reading
}

// The number of bytes that a closed connection drops, and how long a drain waits for a silent peer.
const (
	MaxDropped  = deadlines.MaxDropped
	DrainLinger = deadlines.DrainLinger
)

// Ended reports whether an Accept has ended that no run has dealt with.
func (l *Listener) Ended() bool { return l.socket.State().Ended }

// TakeInert takes from a group of one worker the socket that takes the place of others.
func TakeInert(g *Group) (give func() error) {
	g.core.Engine.Inert.Drop()
	return g.core.Engine.Inert.Hold
}

// A Driver is what a worker has for its connections.
type Driver = core.Driver

// SubmitAccept submits an Accept as a run does, on the only worker, whose driver is d.
func (l *Listener) SubmitAccept(d *Driver) error {
	s := l.socket.State()
	return d.Submit(d.Engine(), reactor.Op{Kind: reactor.Accept, FD: s.FD, Token: s.Token})
}

// HasMailbox reports whether memory is kept for what the connection is sent or sends.
func (h Handle) HasMailbox() bool {
	c := h.core.Conn()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Inbox.Rest() != nil
}

// PretendKernelTrouble counts events that only a kernel without memory has. The workers must be
// idle.
func PretendKernelTrouble(g *Group, exhausted, overflows, shortages, dropped int) {
	g.core.Engine.Drivers[0].Load().Exhausted.Add(uint64(exhausted))
	cfg := &g.core.Config.Reactor
	for range overflows {
		cfg.OnOverflow()
	}
	for range shortages {
		cfg.OnShortage(syscall.ENOMEM, 0)
	}
	cfg.OnLoss(dropped, dropped)
}
