package conn

import (
	"fmt"
	"strings"
	"time"

	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Dump is the state of every connection, read without regard to who owns it:
// for the report of a hang.
func (g *Group) Dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group on %s: %d connections\n", g.Backend(), g.Len())
	n := 0
	for e := range g.core.Table.All() {
		if n++; n > 50 {
			break
		}
		c := connOf(e)
		if c == nil {
			fmt.Fprintf(&b, "  %#x fd %d %T\n", e.Token, e.FD, e.Target)
			continue
		}
		if !c.mu.TryLock() { // a panic may have left it locked
			fmt.Fprintf(&b, "  %#x fd %d flags %v reading %v: its mutex is held\n", e.Token, e.FD, c.flags, c.reading)
			continue
		}
		in, l, m := &c.inbox, c.backlog, c.inbox.mail
		if l == nil {
			l = new(backlog)
		}
		if m == nil {
			m = new(mail)
		}
		fmt.Fprintf(&b, "  %#x fd %d flags %v reading %v unread %d queued %d in flight %d, sent %d; inbox: %d chunks, %d commands, recv %v %v, send %v %v, closed %v, right: held by %d, queued %v, tells %v\n",
			e.Token, e.FD, c.flags, c.reading, len(l.in.Unread), len(l.out.Queued), len(m.flight), m.sent,
			len(m.chunks), len(m.commands), in.recvEnded, in.recvErrno, in.sendEnded, in.sendErrno, in.closed(), in.right.Held(), in.right.IsQueued(), in.right.Tells())
		c.mu.Unlock()
	}
	return b.String()
}

// PollDoubts is a Poll of a driver that has the worker's doubts, which are due, and a reactor
// without completions. The worker's own driver is left alone: any goroutine may wake it.
func (d *driver) PollDoubts(cx *sched.Context) (int, error) {
	quiet := driverFor(d.group, d.Worker, silent{d.R})
	quiet.TakeDoubts(d.Engine())
	return quiet.Poll(cx, 0, false)
}

// A silent reactor has no completions.
type silent struct{ reactor.Reactor }

func (silent) Poll([]reactor.Completion, time.Duration, bool) (int, error) { return 0, nil }

// Slot is the table slot a handle names, and its generation.
func (h Handle) Slot() (index, generation uint32) { return h.token.Index(), h.token.Generation() }

// FD is the descriptor of the connection a handle names.
func (h Handle) FD() int { return h.group.core.Table.Get(h.token).FD }

// Move has the connection's task run on another worker from its next run on. It
// is for the handler: while the task runs, nobody looks where it is to run.
func (c *Conn) Move(worker int) { c.task.Pin(worker) }

// Begun is how many live connections began on each worker.
func (g *Group) Begun() (n []int) {
	for i := range g.rt.Workers() {
		n = append(n, g.placement.Begun(i))
	}
	return n
}

// Waits reports whether connections wait for room.
func (l *Listener) Waits() bool { return l.socket.State().Spare > 0 }

// InLine reports whether the listener waits for memory.
func (l *Listener) InLine() bool { return l.socket.State().InLine }

// PipesUsed is how many pipes are in use.
func (g *Group) PipesUsed() int { return g.pipes.Used() }

// Home is the worker through whose reactor the connection receives.
func (c *Conn) Home() int { return c.home.Worker }

// Begun is the worker on which the connection began.
func (h Handle) Begun() int { return int(h.conn().begun) }

// ReadFiles has the files that are queued be read and written.
func (c *Conn) ReadFiles() {
	for f := range c.out.All() {
		f.Plain = true
	}
}

// ClosingMayBlock reports whether Go's scheduler will be told of the descriptor's close.
func (c *Conn) ClosingMayBlock() bool { return !c.is(prompt) }

// Excess is what all connections have queued above HighWater, in bytes.
func (g *Group) Excess() int64 { return g.excess.Load() }

// Defaults is what a Config with nothing set means.
func Defaults() Config {
	cfg, err := Config{}.withDefaults()
	if err != nil {
		panic(err)
	}
	return cfg
}

// Stopping reports whether Stop has begun.
func (g *Group) Stopping() bool { return g.aborting() }

// FD is the listener's descriptor.
func (l *Listener) FD() int { return l.socket.State().FD }

// Closing reports whether Close was called.
func (l *Listener) Closing() bool { return l.socket.State().Closed }

// StuckError is what Close returns if the descriptor cannot be closed.
func (l *Listener) StuckError() error { return l.socket.StuckError() }

// FlagStrings is what each bit of both kinds of flags prints.
func FlagStrings() (life, reading []string) {
	for bit := flags(1); bit != 0; bit <<= 1 {
		life = append(life, bit.String())
	}
	for bit := readFlags(1); bit != 0; bit <<= 1 {
		reading = append(reading, bit.String())
	}
	return life, reading
}

// What a closed connection drops, and how long a drain waits for a silent peer.
const (
	MaxDropped  = deadlines.MaxDropped
	DrainLinger = deadlines.DrainLinger
)

// Ended reports whether an Accept has ended that no run has dealt with.
func (l *Listener) Ended() bool { return l.socket.State().Ended }

// TakeInert has a group of one worker be without the socket that takes the place of others.
func TakeInert(g *Group) (give func() error) {
	g.core.Inert.Drop()
	return g.core.Inert.Hold
}

// A Driver is what a worker has for its connections.
type Driver = driver

// SubmitAccept submits an Accept as a run does, on the only worker, whose driver is d.
func (l *Listener) SubmitAccept(d *Driver) error {
	s := l.socket.State()
	return d.Submit(d.Engine(), reactor.Op{Kind: reactor.Accept, FD: s.FD, Token: s.Token})
}
