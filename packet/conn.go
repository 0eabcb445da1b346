package packet

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Conn is a datagram socket that a Handler serves. One worker at a time runs the handler. The
// methods of Conn are for the handler, while one of its methods runs. All other code uses a Handle.
// To spread the load of one address over the workers, open a socket for each worker with
// SO_REUSEPORT.
//
// Full queues drop datagrams. The kernel drops arriving datagrams while its receive buffer is full.
// WriteTo refuses datagrams while its queue is full.
type Conn struct {
	end     engine.Endpoint // of the reactors' tokens
	task    sched.Task
	group   *engine.Group
	owner   Group // the Group that contains group
	handler Handler
	local   netip.AddrPort
	peer    netip.AddrPort // of a connected socket; else invalid
	kind    sock.Kind

	// Only the task uses the fields below, on the worker that runs it.
	driver   *engine.Driver // of that worker
	home     *engine.Driver // receives now or received last, and owns the chunks; nil: none yet
	outgoing *engine.Driver // got the last SendTo
	flags    flags
	out      *reactor.Batch                             // written, to be sent after the batch in flight; nil: nothing
	sent     []func(from netip.Addr, to netip.AddrPort) // are called for each datagram that is queued
	abandons []func()                                   // are called if the workers have stopped before OnClose
	answers  answers
	inFlight int   // cost of the batch in flight, at most
	cause    error // the error for OnClose
	value    any
	clock    clock
	from     *engine.Origin   // its figures
	tasks    *sched.TaskScope // of SessionTasks; nil: there are none yet
	closed   time.Duration    // the tick in which the descriptor was closed; 0: it is open

	mu    sync.Mutex // guards inbox; never held while a handler runs
	inbox inbox
}

type flags uint8

const (
	opened        flags = 1 << iota // OnOpen has been called
	receiving                       // a RecvFrom is in flight
	stopping                        // a Cancel for the receive is in flight
	closing                         // Close was called: send all queued datagrams
	broken                          // nothing more is sent or received: tear down
	outbound                        // it is connected
	drained                         // OnDrain has been called
	onCloseCalled                   // OnClose has been called
)

func (c *Conn) is(f flags) bool { return c.flags&f != 0 }

// A Group is a group of workers that serve sockets: a *conn.Group, or a type that embeds one.
type Group interface {
	engine.Host // no other type has its method

	// Runtime is the runtime on whose workers the handlers run.
	Runtime() *sched.Runtime
}

// Listen serves a UDP socket. The workers call h for each event. The group works on a copy of the
// descriptor, so pc may be closed at once. On a socket that is bound to an unspecified address,
// answers leave from the address that was asked: see Conn.WriteTo. A connected socket counts as
// dialed: see conn.Group.Shutdown.
func Listen(g Group, pc *net.UDPConn, h Handler) (Handle, error) {
	fd, err := sock.OfPacketConn(pc)
	if err != nil {
		return Handle{}, err
	}
	return attach(g, fd, h)
}

// Dial serves a UDP socket that is connected to an address. It receives only from that address. If
// no socket listens there, OnError gets ECONNREFUSED. Dial fails if the socket cannot be made or
// connected, or if the runtime cannot start. Then h is not called.
func Dial(g Group, to netip.AddrPort, h Handler) (Handle, error) {
	fd, err := sock.DialPacket(to)
	if err != nil {
		return Handle{}, &net.OpError{Op: "dial", Net: "udp", Addr: net.UDPAddrFromAddrPort(to), Err: err}
	}
	return attach(g, fd, h)
}

func attach(owner Group, fd int, h Handler) (Handle, error) {
	g := engine.Reveal(owner)
	if err := g.Start(); err != nil {
		sock.Close(fd)
		return Handle{}, err
	}
	local, peer, kind := sock.Inspect(fd)
	with, op := flags(0), "listen"
	if peer.IsValid() {
		with, op = outbound, "dial"
	}
	if !g.Enter(with&outbound != 0) {
		sock.Close(fd)
		return Handle{}, &net.OpError{Op: op, Net: "udp", Err: net.ErrClosed}
	}
	c := &Conn{group: g, owner: owner, handler: h, flags: with, local: local, peer: peer, kind: kind}
	c.end.FD, c.end.Target = fd, (*target)(c)
	if c.local.Addr().IsUnspecified() && !c.peer.IsValid() {
		c.answers.on = sock.WantSource(fd, c.kind.Wide)
	}
	c.task.Init(g.RT, (*connTask)(c))
	if with&outbound != 0 {
		c.from = g.DialOrigin(engine.Datagrams)
	} else {
		c.from = g.Origin(engine.Datagrams, net.UDPAddrFromAddrPort(c.local))
	}
	c.from.Outside.Begun.Add(1)
	g.Table.Add(&c.end)
	handle := c.Handle()
	c.task.WakeOn(g.NextWorker())
	g.AbandonLate((*target)(c))
	return handle, nil
}

// Handle returns a reference to the socket, for other goroutines and for later.
func (c *Conn) Handle() Handle { return Handle{group: c.group, token: c.end.Token} }

// Value returns the handler's own state of this socket, which SetValue stored, or nil.
func (c *Conn) Value() any { return c.value }

// SetValue stores the handler's own state of this socket.
func (c *Conn) SetValue(v any) { c.value = v }

// Now returns the time at which the worker's tick began. It is cheap. It is well under a
// millisecond old as long as handlers are quick.
func (c *Conn) Now() time.Time { return c.group.RT.Time(c.driver.Cx.Now()) }

// Worker returns the index, from 0, of the worker on which the handler runs. The next call may run
// on another worker, also on a spare one: see conn.Conn.Worker.
func (c *Conn) Worker() int { return c.driver.Cx.Worker() }

// Group returns the group that the socket belongs to.
func (c *Conn) Group() Group { return c.owner }

// LocalAddr returns the address of this end. It is known after Close, too.
func (c *Conn) LocalAddr() netip.AddrPort { return c.local }

// RemoteAddr returns the peer of a connected socket. For other sockets it is invalid.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.peer }

// opError wraps an error as package net does. to is the destination of the datagram, or invalid.
func (c *Conn) opError(op string, to netip.AddrPort, err error) error {
	e := &net.OpError{Op: op, Net: "udp", Source: net.UDPAddrFromAddrPort(c.local), Err: err}
	if !to.IsValid() {
		to = c.peer
	}
	if to.IsValid() {
		e.Addr = net.UDPAddrFromAddrPort(to)
	}
	return e
}
