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
	fd, err := newSocket(addr)
	if err != nil {
		return Handle{}, &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
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
	at := g.place(c)
	g.beginsOn(c, at)
	c.attach()
	h2 := c.Handle()
	c.task.WakeOn(at)
	return h2, nil
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
