package conn

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

// Dial starts connecting to a *net.TCPAddr or *net.UnixAddr and returns at once. When the
// connection is established, h.OnOpen is called; if that fails, h.OnClose alone, with the error.
// Closing the handle meanwhile ends the attempt, also with an OnClose. Dial returns an error,
// without a call of h, if a socket cannot be made or a runtime cannot start. After Group.Stop the
// error is net.ErrClosed.
func (g *Group) Dial(addr net.Addr, h Handler) (Handle, error) {
	return g.DialWith(&DialConfig{Addrs: []net.Addr{addr}}, h)
}

// Dial is Group.Dial for a connection that exchanges bytes with this one, as in a proxy. It begins
// on the worker where this one receives, in spite of Config.Placement, so that those bytes stay
// there.
func (c *Conn) Dial(addr net.Addr, h Handler) (Handle, error) {
	return c.group.DialWith(&DialConfig{Addrs: []net.Addr{addr}, Near: c}, h)
}

// receivesOn is the worker where the connection receives, or will.
func (c *Conn) receivesOn() int {
	if c.home != nil {
		return c.home.Worker
	}
	return c.driver.Worker
}

// DialWith is Dial with more to say, and to one of several addresses. cfg is not
// needed when it has returned. With several addresses, Find or Attempt, a socket that cannot be
// made is a failed attempt like any other.
func (g *Group) DialWith(cfg *DialConfig, h Handler) (Handle, error) {
	if err := g.rt.Start(); err != nil {
		return Handle{}, err
	}
	c := newConn(g, -1, h)
	target := cfg.target()
	switch {
	case target == nil:
		return Handle{}, &net.OpError{Op: "dial", Net: "tcp", Err: attempts.ErrNoAddrs}
	case len(cfg.Addrs) == 1 && cfg.Find == nil && cfg.Attempt == nil:
		if err := c.aim(cfg.Addrs[0], cfg); err != nil {
			return Handle{}, &net.OpError{Op: "dial", Net: cfg.Addrs[0].Network(), Source: cfg.LocalAddr, Addr: cfg.Addrs[0], Err: err}
		}
	default:
		c.more().target = target
		c.extras.race = attempts.New(&g.core, (*racer)(c), attempts.Config{Addrs: cfg.Addrs, Target: target, Local: cfg.LocalAddr,
			Delay: cfg.Delay, Find: cfg.Find, Control: cfg.Control, Attempt: cfg.Attempt})
	}
	if !g.core.Enter(true) {
		if c.end.FD >= 0 {
			sock.Close(c.end.FD)
		}
		return Handle{}, &net.OpError{Op: "dial", Net: target.Network(), Source: cfg.LocalAddr, Addr: target, Err: net.ErrClosed}
	}
	c.set(dialled | outbound)
	if n := len(cfg.Preface); n > 0 { // the first command, before which nobody sends
		c.inbox.mail = &mail{commands: []command{{kind: cmdRaw, data: bytes.Clone(cfg.Preface)}}, bytes: n}
		c.inbox.right.Queue(0)
	}
	if limit := cmp.Or(cfg.Timeout, g.cfg.ConnectTimeout); limit > 0 {
		c.more().clock.Set(deadlines.Connect, saturate.Add(g.rt.Now(), limit))
	}
	at := 0
	if cfg.Near != nil {
		at = cfg.Near.receivesOn()
	} else {
		at = g.placement.Choose(c.peer)
	}
	g.beginsOn(c, at)
	c.group.core.Table.Add(&c.end)
	h2 := c.Handle()
	if cfg.Near != nil {
		g.start(cfg.Near.driver, c, at)
	} else {
		c.task.WakeOn(at)
	}
	return h2, nil
}

// aim makes the socket for the only address.
func (c *Conn) aim(addr net.Addr, cfg *DialConfig) (err error) {
	if c.end.FD, err = sock.ToDial(addr, cfg.LocalAddr, cfg.Control); err != nil {
		return err
	}
	c.towards(addr)
	return nil
}

func (c *Conn) towards(addr net.Addr) {
	switch a := addr.(type) {
	case *net.TCPAddr:
		c.setPeer(a.AddrPort())
	case *net.UnixAddr:
		c.more().path = a
	}
}

// connect is the first step of a dialed connection.
func (c *Conn) connect() {
	if c.extras != nil && c.extras.race != nil {
		c.race()
		return
	}
	if c.is(connecting) {
		return
	}
	c.set(connecting)
	c.submit(c.carrier(), reactor.Op{Kind: reactor.Connect, FD: c.end.FD, Token: c.end.Token, Addr: c.peerAddr()})
	if c.is(broken) {
		c.clear(connecting)
	}
}

func (c *Conn) connectEnd(errno syscall.Errno) {
	c.clear(connecting)
	c.reading.clear(stopping)
	switch {
	case c.is(broken):
	case errno == syscall.EINTR: // settle connects again
	case errno != 0:
		c.fail(c.sysError("dial", "connect", errno))
	default:
		c.connected()
	}
}

// connected is for the moment when the descriptor is connected.
func (c *Conn) connected() {
	c.clear(dialled)
	if c.extras != nil {
		c.extras.clock.Set(deadlines.Connect, 0)
	}
}

// A racer is a connection as the owner of the race in which it is dialed. The race is run by the
// task of the connection that is to be. So the handler knows of one connection only, the one that
// its handle has meant from the beginning: that takes over the winner's descriptor.
type racer Conn

var _ attempts.Owner = (*racer)(nil)

func (o *racer) Wants() bool { return !(*Conn)(o).is(broken) }

func (o *racer) Won(fd int, at *engine.Driver, addr net.Addr) {
	c := (*Conn)(o)
	c.end.FD, c.home, c.outgoing = fd, at, at
	c.mu.Lock()
	c.towards(addr) // remote reads it
	c.extras.target = nil
	c.mu.Unlock()
	c.connected()
}

func (o *racer) Lost(err error) { (*Conn)(o).fail(err) }

func (o *racer) Call(user func()) { (*Conn)(o).call(user) }

func (o *racer) Tell(f func()) {
	_ = (*Conn)(o).tell(command{kind: cmdInner, do: func(*Conn) { f() }}) // it may have ended
}

func (o *racer) Task() *sched.Task { return &o.task }

// race begins the attempts that are due, after a run of a connection that is not established.
func (c *Conn) race() {
	defer c.recoverPanic()
	k := &c.extras.clock
	c.extras.race.GoOn(c.driver.Engine(), k.At(deadlines.Connect))
	k.Set(deadlines.Attempt, c.extras.race.Wake())
}

// judge deals with the attempts that have ended.
func (c *Conn) judge() {
	if c.extras.race.Judge(c.driver.Engine()) {
		c.endRace()
	}
}

// endRace cancels the attempts, and reports whether all of them have ended. Until then the
// connection is not over.
func (c *Conn) endRace() (over bool) {
	if c.extras.race == nil {
		return true
	}
	c.extras.clock.Set(deadlines.Attempt, 0)
	if over = c.extras.race.Stop(c.driver.Engine()); over {
		c.extras.race = nil
	}
	return over
}
