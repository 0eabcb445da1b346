package core

import (
	"bytes"
	"cmp"
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/attempts"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// DialWith is Dial with more to say, and to one of several addresses. cfg is not
// needed when it has returned. With several addresses, Find or Attempt, a socket that cannot be
// made is a failed attempt like any other.
func (g *Group) DialWith(cfg *DialConfig, h any) (Handle, error) {
	target := cfg.target()
	if target == nil {
		return Handle{}, &net.OpError{Op: "dial", Net: "tcp", Err: attempts.ErrNoAddrs}
	}
	if err := g.Engine.Start(); err != nil {
		return Handle{}, &net.OpError{Op: "dial", Net: target.Network(), Source: cfg.LocalAddr, Addr: target, Err: err}
	}
	c := NewConn(g, -1, h)
	switch {
	case len(cfg.Addrs) == 1 && cfg.Find == nil && cfg.Attempt == nil:
		var err error
		if c.Endpoint.FD, err = sock.ToDial(cfg.Addrs[0], cfg.LocalAddr, cfg.Control); err != nil {
			return Handle{}, &net.OpError{Op: "dial", Net: cfg.Addrs[0].Network(), Source: cfg.LocalAddr, Addr: cfg.Addrs[0], Err: err}
		}
		towards(c, cfg.Addrs[0])
	default:
		c.More().dial.target = target
		c.Extras.dial.race = attempts.New(&g.Engine, (*racer)(c), attempts.Config{Addrs: cfg.Addrs, Target: target, Local: cfg.LocalAddr,
			Delay: cfg.Delay, Find: cfg.Find, Control: cfg.Control, Attempt: cfg.Attempt})
	}
	if !g.Engine.Enter(true) {
		if c.Endpoint.FD >= 0 {
			sock.Close(c.Endpoint.FD)
		}
		return Handle{}, &net.OpError{Op: "dial", Net: target.Network(), Source: cfg.LocalAddr, Addr: target, Err: net.ErrClosed}
	}
	c.Set(dialed | Outbound)
	if sock.HasPort(cfg.LocalAddr) {
		c.Set(boundPort)
	}
	if n := len(cfg.Preface); n > 0 { // the first command, before which nobody sends
		c.Inbox.Tell(Command{Kind: cmdRaw, Data: bytes.Clone(cfg.Preface)}, n)
		c.Inbox.Right.Queue(0)
	}
	if limit := cmp.Or(cfg.Timeout, g.Config.ConnectTimeout); limit > 0 {
		c.More().Clock.Set(deadlines.Connect, saturate.Add(g.Runtime.Now(), limit))
	}
	var at int
	switch near := cfg.Near; {
	case near == nil:
		at = g.Placement.Choose(c.Peer())
	case near.Home != nil: // where it receives
		at = near.Home.Worker
	default: // where it will
		at = near.Driver.Worker
	}
	at %= g.Runtime.Workers() // nothing begins on a spare worker
	g.BeginsOn(c, at)
	g.WatchEnd()
	g.Dials.Outside.Begun.Add(1)
	c.mark = markOf(g.Dials, g.Runtime.Now())
	if cfg.Near != nil {
		c.Inbox.Sign(unstarted)
	}
	g.Engine.Table.Add(&c.Endpoint)
	h2 := c.Handle()
	if near := cfg.Near; near != nil {
		extras := near.More()
		extras.dialed = append(extras.dialed, start{c, at})
		near.Task.Wake() // a run follows even if the caller is none of its handler's methods
	} else {
		c.Task.WakeOn(at)
	}
	g.Engine.AbandonLate((*connTarget)(c))
	return h2, nil
}

// A start is a connection that a handler of another one has dialed, and the worker on which it
// begins.
type start struct {
	c  *Conn
	at int
}

// startDialed begins the dials of the handler's methods that have returned. Had they begun before,
// another worker could receive from them, and see them end, before the handler has spliced them.
func (c *Conn) startDialed() {
	if c.Extras == nil || len(c.Extras.dialed) == 0 {
		return
	}
	all := c.Extras.dialed
	c.Extras.dialed = nil
	for _, s := range all {
		s.c.unsign(unstarted)
		c.Group.Start(c.Driver, s.c, s.at)
	}
}

// A dialing is a dial to one of several addresses. It lies in the extras. A dial to one address
// needs none.
type dialing struct {
	race   *attempts.Race // nil: it is over, or there is one address
	target net.Addr       // what it is for, until the race is won: then it changes, under Mu
}

// towards notes the address to which a connection is dialed.
func towards(c *Conn, addr net.Addr) {
	switch a := addr.(type) {
	case *net.TCPAddr:
		c.SetPeer(a.AddrPort())
	case *net.UnixAddr:
		c.More().path = a
	}
}

// connect is the first step of a dialed connection.
func connect(c *Conn) {
	if c.Extras.racing() {
		c.Extras.dial.startDue(c)
		return
	}
	if c.Is(connecting) {
		return
	}
	c.Set(connecting)
	c.submit(c.carrier(), reactor.Op{Kind: reactor.Connect, FD: c.Endpoint.FD, Token: c.Endpoint.Token, Addr: c.peerAddr()})
	if c.Is(Broken) {
		c.clear(connecting)
	}
}

// connectEnd is the end of the only attempt.
func connectEnd(c *Conn, errno syscall.Errno) {
	c.clear(connecting)
	c.Reading.Clear(stopping)
	switch {
	case c.Is(Broken):
	case errno == syscall.EINTR: // settle connects again
	case errno != 0:
		c.Fail(c.SysError("dial", "connect", errno))
	case !c.Is(boundPort) && sock.ToItself(c.Endpoint.FD, c.peerAddr()):
		c.Set(Reset)
		c.Fail(c.SysError("dial", "connect", syscall.ECONNREFUSED))
	default:
		connected(c)
	}
}

// connected is for the moment when the descriptor is connected.
func connected(c *Conn) {
	c.clear(dialed)
	if c.Extras != nil {
		c.Extras.Clock.Set(deadlines.Connect, 0)
	}
}

// A racer is a connection as the owner of the race in which it is dialed. The race is run by the
// task of the connection that is to be. So the handler knows of one connection only, the one that
// its handle has meant from the beginning: that takes over the winner's descriptor.
type racer Conn

var _ attempts.Owner = (*racer)(nil)

func (o *racer) Wants() bool { return !(*Conn)(o).Is(Broken) }

func (o *racer) Connected(fd int, at *engine.Driver, addr net.Addr) {
	c := (*Conn)(o)
	c.Endpoint.FD, c.Home, c.outgoing = fd, at, at
	c.won(addr)
	connected(c)
}

func (o *racer) Lost(err error) { (*Conn)(o).Fail(err) }

func (o *racer) Call(user func()) { (*Conn)(o).call(user) }

func (o *racer) Tell(f func()) {
	_ = (*Conn)(o).Tell(Command{Kind: CmdInner, What: func(*Conn) { f() }}) // it may have ended
}

func (o *racer) Runner() *sched.Task { return &o.Task }

// racing reports whether attempts to connect are made.
func (x *extras) racing() bool { return x != nil && x.dial.race != nil }

// startDue begins the attempts that are due, after a run of a connection that is not established.
func (d *dialing) startDue(c *Conn) {
	c.call(func() {
		k := &c.Extras.Clock
		d.race.StartDue(c.Driver.Engine(), k.At(deadlines.Connect))
		k.Set(deadlines.Attempt, d.race.Wake())
	})
}

// reap deals with the attempts that have ended.
func (d *dialing) reap(c *Conn) {
	if d.race.Reap(c.Driver.Engine()) {
		d.stop(c)
	}
}

// stop cancels the attempts, and reports whether all of them have ended. Until then the connection
// is not over.
func (d *dialing) stop(c *Conn) (over bool) {
	c.Extras.Clock.Set(deadlines.Attempt, 0)
	if over = d.race.Stop(c.Driver.Engine()); over {
		d.race = nil
	}
	return over
}
