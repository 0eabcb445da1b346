package conn

import (
	"net"
	"syscall"

	"github.com/suiro-go/suiro/reactor"
)

// Dial starts connecting to a *net.TCPAddr or *net.UnixAddr and returns at once.
// When the connection is established, h.OnOpen is called; if that fails,
// h.OnClose alone, with the error. Closing the handle meanwhile ends the
// attempt, also with an OnClose. The error is that of a socket that cannot be
// made or of a runtime that cannot start; then h is not called.
func (g *Group) Dial(addr net.Addr, h Handler) (Handle, error) {
	if err := g.rt.Start(); err != nil {
		return Handle{}, err
	}
	c, err := g.newDial(addr, h)
	if err != nil {
		return Handle{}, err
	}
	at := g.place(c)
	g.beginsOn(c, at)
	c.attach()
	h2 := c.Handle()
	c.task.WakeOn(at)
	return h2, nil
}

// Dial is Group.Dial for a connection that has to do with this one, as a proxy's has:
// it begins on the worker where this one receives, whatever Config.Placement says, so
// that bytes that go from one to the other stay there.
func (c *Conn) Dial(addr net.Addr, h Handler) (Handle, error) {
	nc, err := c.group.newDial(addr, h)
	if err != nil {
		return Handle{}, err
	}
	at := c.driver.worker
	if c.home != nil {
		at = c.home.worker
	}
	c.group.beginsOn(nc, at)
	nc.attach()
	h2 := nc.Handle()
	c.group.start(c.driver, nc, at)
	return h2, nil
}

// newDial is a connection that is to be dialled.
func (g *Group) newDial(addr net.Addr, h Handler) (*Conn, error) {
	fd, err := newSocket(addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
	}
	c := newConn(g, fd, h)
	switch a := addr.(type) {
	case *net.TCPAddr:
		c.setPeer(a.AddrPort())
	case *net.UnixAddr:
		c.more().path = a
	}
	c.set(dialled)
	if limit := g.cfg.ConnectTimeout; limit > 0 {
		c.more().clock.connect = g.rt.Now() + limit
	}
	return c, nil
}

// connect is the first thing a dialled connection does.
func (c *Conn) connect() {
	if c.is(connecting) {
		return
	}
	c.set(connecting)
	c.submit(c.out(), reactor.Op{Kind: reactor.Connect, FD: c.fd, Token: c.token, Addr: c.peerAddr()})
	if c.is(broken) {
		c.clear(connecting)
	}
}

func (c *Conn) connectEnd(errno syscall.Errno) {
	c.clear(connecting | stopping)
	switch {
	case c.is(broken):
	case errno == syscall.EINTR: // settle connects again
	case errno != 0:
		c.fail(c.sysError("dial", "connect", errno))
	default:
		c.clear(dialled)
		if c.extras != nil {
			c.extras.clock.connect = 0
		}
	}
}
