package conn

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/attempts"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/internal/ledger"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// A Conn is one byte-stream connection. Its methods are for its handler, while
// a method of that runs; Handle is for everybody else.
type Conn struct {
	end     engine.Endpoint // of the reactors' tokens
	task    sched.Task
	group   *Group
	handler Handler
	// fixed before attach, as is the port; a race changes both under mu when it is won. Invalid: a
	// Unix socket.
	peer    netip.Addr
	port    uint16
	begun   uint16 // the worker it began on
	flags   flags  // from here on the task's alone, on whichever worker runs it
	reading readFlags

	driver *driver // that worker's
	// where it receives, or last did, and its chunks lie; before that, where its first operation
	// went
	home     *engine.Driver
	outgoing *engine.Driver // where its last Connect or Send went
	*backlog                // nil between runs if there is nothing in it
	extras   *extras        // nil: none was ever needed; others read it, under mu
	value    any

	mu    sync.Mutex // guards inbox; never held while a handler runs
	inbox inbox
}

// A backlog is the work of a run of the task. A connection that waits for its peer, as most do, has
// none.
type backlog struct {
	in       flow.Input
	out      flow.Output // behind the flight
	inFlight int         // at most this many bytes of the send in flight are unsent
	toWrite  int         // bytes of the commands that this run has taken and not executed
}

func (b *backlog) empty() bool { return b.in.Empty() && b.out.Empty() }

// extras are what few connections need, or only in the end.
type extras struct {
	clock deadlines.Clock
	alarm alarm.Alarm   // for the earliest of them
	path  *net.UnixAddr // the peer's, of a Unix socket; nil: it has none
	cause error         // what OnClose is given
	// the peer speaks for it; nil: for itself. The task writes it, under mu
	client     net.Addr
	charge     ledger.Charge // with MaxMemory alone, under mu
	place      ledger.Place  // in the line for memory
	notifySent []func(error)
	relay      *relay // of one that is spliced; the task writes it, under mu

	notifyClose []func()
	watcher     *engine.Driver // where the Hangup in flight went; nil: there is none
	hung        bool           // it has reported a reset
	race        *attempts.Race // while the connection is being dialed; nil: to one address
	target      net.Addr       // what that is for, until it is won: then it changes, under mu

	filter *filter // of one that speaks TLS; the task writes it, under mu
}

// more is the extras, which it makes if there are none.
func (c *Conn) more() *extras {
	if c.extras == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.extras = new(extras)
	}
	return c.extras
}

func (c *Conn) cause() error {
	if c.extras == nil {
		return nil
	}
	return c.extras.cause
}

// newConn makes a connection of a descriptor, which nobody knows before attach.
func newConn(g *Group, fd int, h Handler) *Conn {
	c := &Conn{group: g}
	c.install(h)
	c.end.FD, c.end.Target = fd, (*connTarget)(c)
	if g.bounded() {
		c.extras = new(extras) // others book in its charge
	}
	c.task.Init(g.rt, (*connTask)(c))
	if h, ok := h.(*handshakeHandler); ok {
		h.cover(c) // before anybody can send
	}
	return c
}

// attach makes an accepted connection known to the group. From then on commands may reach it, and
// run its task. DialWith does the same for its own connections.
func (c *Conn) attach() {
	c.group.core.Census.Join(false)
	c.group.core.Table.Add(&c.end)
}

// Handle is a reference to the connection for other goroutines and for later.
func (c *Conn) Handle() Handle { return Handle{group: c.group, token: c.end.Token} }

// Value is what SetValue stored, or nil: the handler's own state of this
// connection.
func (c *Conn) Value() any { return c.value }

// SetValue stores the handler's own state of this connection.
func (c *Conn) SetValue(v any) { c.value = v }

// ValueOf is what SetValue stored in the connection, as a T; false: it is none.
func ValueOf[T any](c *Conn) (v T, ok bool) {
	v, ok = c.value.(T)
	return v, ok
}

// SetHandler gives all later events to another handler, for example when the peers have agreed on
// another protocol. Earlier events are not repeated. If anything is unread its OnData is called
// soon. The connection of a Stream keeps the handler it has: the error matches
// errors.ErrUnsupported. A Sequential needs the OnOpen that HandOver calls.
func (c *Conn) SetHandler(h Handler) error {
	if c.ofStream() {
		return c.opError("set", errOfStream)
	}
	c.clear(drained)
	if r := c.spliced(); r != nil {
		r.Handler = h
		return nil
	}
	c.install(h)
	if len(c.in.Unread) > 0 && !c.is(closing|broken) {
		c.reading.set(unseen)
		c.driver.Cx.Wake(c.task.Waker())
	}
	return nil
}

// Now is the time at the beginning of the worker's tick. It costs nearly nothing, and is good to
// well under a millisecond as long as handlers are quick.
func (c *Conn) Now() time.Time { return c.group.rt.Time(c.driver.Cx.Now()) }

// Worker is the index of the worker the handler runs on, from 0: for state that
// workers should not share. It may be another one next time.
func (c *Conn) Worker() int { return c.driver.Cx.Worker() }

// Group is the group the connection belongs to.
func (c *Conn) Group() *Group { return c.group }

// RemoteAddr is the peer's address: a *net.TCPAddr or a *net.UnixAddr. It stays
// known after the connection has ended.
func (c *Conn) RemoteAddr() net.Addr {
	if c.extras != nil && c.extras.client != nil {
		return c.extras.client
	}
	return c.peerAddr()
}

// SetRemoteAddr sets the result of RemoteAddr, for a peer that is a proxy and speaks for another
// client. Limits by source still count the peer.
func (c *Conn) SetRemoteAddr(client net.Addr) {
	x := c.more()
	c.mu.Lock()
	defer c.mu.Unlock()
	x.client = client
}

// remote is RemoteAddr for others than the task.
func (c *Conn) remote() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.RemoteAddr()
}

func (c *Conn) peerAddr() net.Addr {
	switch {
	case c.extras != nil && c.extras.target != nil:
		return c.extras.target
	case !c.local():
	case c.extras != nil && c.extras.path != nil:
		return c.extras.path
	default:
		return &net.UnixAddr{Name: "@", Net: "unix"} // as package net calls one without a name
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.peer, c.port))
}

// LocalAddr is this end's address, nil when the connection has ended.
func (c *Conn) LocalAddr() net.Addr { return sock.LocalAddr(c.end.FD) }

// local reports whether it is a Unix socket.
func (c *Conn) local() bool { return !c.peer.IsValid() }

// overTCP reports whether it is known to be a socket of TCP: the peers of those have ports.
func (c *Conn) overTCP() bool { return c.port != 0 }

// accepted notes the peer's address.
func (c *Conn) accepted(a accept.Accepted) {
	switch {
	case a.Peer.IsValid():
		c.setPeer(a.Peer)
	case a.Path != "":
		c.more().path = &net.UnixAddr{Name: a.Path, Net: "unix"}
	}
}

// setPeer notes the address of a TCP connection's peer.
func (c *Conn) setPeer(peer netip.AddrPort) {
	c.peer, c.port = peer.Addr(), peer.Port()
	if c.local() {
		c.peer = netip.IPv6Unspecified() // not known, but not a Unix socket either
	}
}

func (c *Conn) network() string {
	switch {
	case c.extras != nil && c.extras.target != nil:
		return c.extras.target.Network()
	case c.local():
		return "unix"
	default:
		return "tcp"
	}
}
