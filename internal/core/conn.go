package core

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/membudget"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// A Conn is one byte-stream connection. Its methods are for its handler, while
// a method of that runs; Handle is for everybody else.
type Conn struct {
	Endpoint engine.Endpoint // of the reactors' tokens
	Task     sched.Task
	Group    *Group
	Handler  any // the task writes it, under Mu
	// fixed before Attach, as is the port; a race changes both under Mu when it is won
	peer    peer
	mark    mark
	Port    uint16
	Begun   uint16 // the worker it began on
	flags   Flags  // from here on the task's alone, on whichever worker runs it
	Reading ReadFlags

	Driver *Driver // that worker's
	// where it receives, or last did, and its chunks lie; before that, where its first operation
	// went
	Home         *engine.Driver
	outgoing     *engine.Driver // where its last Connect or Send went
	*pendingWork                // nil between runs if there is nothing in it
	Extras       *extras        // nil: none was ever needed; others read it, under Mu
	Value        any

	Mu    sync.Mutex // guards inbox; never held while a handler runs
	Inbox inbox
}

// pendingWork is the work of a run of the task: received bytes to be read, written bytes to be
// sent. A connection that waits for its peer, as most do, has none.
//
// Its methods need a connection that has one: in a run, or after one that left something. One that
// has ended has noPendingWork, whose parts have no connection. All connections that have ended
// share it. So a public method that a late holder of a Conn may call looks at the flags first, only
// reads fields, and writes none.
type pendingWork struct {
	reader
	writer
	roles // of the handler, in the run
}

func (w *pendingWork) empty() bool { return w.In.Empty() && w.Out.Empty() }

// extras are what few connections need, or only in the end.
type extras struct {
	ending
	Clock timing
	path  *net.UnixAddr // the peer's, of a Unix socket; nil: it has none
	zone  string        // of the peer's address
	exact bool          // the peer's address is that which stands for [::] otherwise
	// the peer speaks for it; nil: for itself. The task writes it, under Mu
	client  net.Addr
	Usage   membudget.Usage  // with MaxMemory alone, under Mu
	place   membudget.Waiter // in the line for memory
	watch   watch
	arrival arrival
	dial    dialing
	dialed  []start // by its handler, in this run
	Link    *Link   // of one that is spliced; the task writes it, under Mu
	Filter  *Filter // of one that speaks TLS; the task writes it, under Mu
}

func (c *Conn) Cause() error {
	if c.Extras == nil {
		return nil
	}
	return c.Extras.Cause
}

// NewConn makes a connection of a descriptor, which nobody knows before Attach.
func NewConn(g *Group, fd int, h any) *Conn {
	c := &Conn{Group: g}
	c.Install(h)
	c.Endpoint.FD, c.Endpoint.Target = fd, (*connTarget)(c)
	if g.Bounded() {
		c.Extras = new(extras) // others count bytes in its usage
	}
	c.Task.Init(g.Runtime, (*connTask)(c))
	if c.Is(consumed) {
		if hs, ok := h.(Handshake); ok {
			hs.Cover(c) // before anybody can send
		}
	}
	return c
}

// Attach makes an accepted connection known to the group. From then on commands may reach it, and
// run its task. It was accepted for that origin, at that time. DialWith does the same for its own
// connections.
func (c *Conn) Attach(from *engine.Origin, now time.Duration) {
	c.Group.Engine.Census.Join(false)
	c.mark = markOf(from, now)
	c.Group.Engine.Table.Add(&c.Endpoint)
}

// Handle is Conn.Handle of package conn.
func (c *Conn) Handle() Handle { return Handle{Group: c.Group, Token: c.Endpoint.Token} }

// SetHandler is Conn.SetHandler of package conn.
func (c *Conn) SetHandler(h any) error {
	if c.OfStream() {
		return c.OpError("set", errOfStream)
	}
	c.clear(Drained)
	c.Replace(h)
	if c.Spliced() == nil && len(c.In.Unread) > 0 && !c.Is(Closing|Broken) {
		c.Reading.Set(Unoffered)
		c.Driver.Cx.Wake(c.Task.Waker())
	}
	return nil
}

// Now is Conn.Now of package conn.
func (c *Conn) Now() time.Time { return c.Group.Runtime.Time(c.Driver.Cx.Now()) }

// Worker is Conn.Worker of package conn.
func (c *Conn) Worker() int { return c.Driver.Cx.Worker() }

// RemoteAddr is Conn.RemoteAddr of package conn.
func (c *Conn) RemoteAddr() net.Addr {
	if c.Extras != nil && c.Extras.client != nil {
		return c.Extras.client
	}
	return c.peerAddr()
}

func (c *Conn) peerAddr() net.Addr {
	switch {
	case c.Extras != nil && c.Extras.dial.target != nil:
		return c.Extras.dial.target
	case !c.local():
	case c.Extras != nil && c.Extras.path != nil:
		return c.Extras.path
	default:
		return &net.UnixAddr{Name: "@", Net: "unix"} // as package net calls one without a name
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.Peer(), c.Port))
}

// LocalAddr is Conn.LocalAddr of package conn.
func (c *Conn) LocalAddr() net.Addr { return sock.LocalAddr(c.Endpoint.FD) }

// overTCP reports whether it is known to be a socket of TCP: the peers of those have ports.
func (c *Conn) overTCP() bool { return c.Port != 0 }

// Accepted notes the peer's address.
func (c *Conn) Accepted(a accept.Accepted) {
	switch {
	case a.Peer.IsValid():
		c.SetPeer(a.Peer)
	case a.Path != "":
		c.More().path = &net.UnixAddr{Name: a.Path, Net: "unix"}
	}
}

func (c *Conn) network() string {
	switch {
	case c.Extras != nil && c.Extras.dial.target != nil:
		return c.Extras.dial.target.Network()
	case c.local():
		return "unix"
	default:
		return "tcp"
	}
}

// LogAttr is the attribute that names the peer.
func (c *Conn) LogAttr() slog.Attr { return slog.Any("remote", c.RemoteAddr()) }
