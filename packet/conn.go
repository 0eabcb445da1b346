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

// A Conn is a datagram socket that is served by a Handler, one worker
// at a time: its methods are for the handler, while a method of that runs;
// Handle is for everybody else. To spread the load of one address over the
// workers, give them sockets of their own with SO_REUSEPORT.
//
// A queue that is full drops what comes, as is usual with datagrams: the kernel
// what arrives and is not received in time, WriteTo what cannot be sent in time.
type Conn struct {
	end     engine.Endpoint // of the reactors' tokens
	task    sched.Task
	group   *engine.Group
	owner   Group // whose that is
	handler Handler
	local   netip.AddrPort
	peer    netip.AddrPort // of a connected socket; else invalid
	kind    sock.Kind

	// The task's alone, on whichever worker runs it.
	driver   *engine.Driver // that worker's
	home     *engine.Driver // where it receives, or last did, and its chunks lie; nil: nowhere yet
	outgoing *engine.Driver // where its last SendTo went
	flags    flags
	out      *reactor.Batch            // written, behind what is in flight; nil: nothing
	notes    []note                    // for those in out
	sent     []func(to netip.AddrPort) // are called with each datagram that is queued
	inFlight int                       // cost of the batch in flight, at most
	cause    error                     // what OnClose is given
	value    any
	clock    clock
	closed   time.Duration // the tick in which the descriptor was closed; 0: it is open

	mu    sync.Mutex // guards inbox; never held while a handler runs
	inbox inbox
}

// A note is a write that waits to know what became of one datagram of a batch.
type note struct {
	index int
	asker
}

type flags uint8

const (
	opened    flags = 1 << iota // OnOpen has been called
	receiving                   // a RecvFrom is in flight
	stopping                    // and a Cancel for it
	closing                     // Close was called: send what is queued
	broken                      // nothing more is sent or received: tear down
	outbound                    // it was dialled
	drained                     // its handler has been told to come to an end
	told                        // OnClose has been called
)

func (c *Conn) is(f flags) bool { return c.flags&f != 0 }

// A Group is the workers that serve sockets: a *conn.Group, or a type that embeds one.
type Group interface {
	engine.Host // no other type has its method
	Runtime() *sched.Runtime
}

// Listen serves a UDP socket, and has h told of what arrives. The group works
// on a copy of the descriptor, so pc may be closed at once.
func Listen(g Group, pc *net.UDPConn, h Handler) (Handle, error) {
	fd, err := sock.OfPacketConn(pc)
	if err != nil {
		return Handle{}, err
	}
	return attach(g, fd, h, 0)
}

// Dial serves a UDP socket that is connected to an address: it receives from
// there alone, and is told when nobody listens there. The error is that of a socket
// that cannot be made or connected, or of a runtime that cannot start; then h is not
// called.
func Dial(g Group, to netip.AddrPort, h Handler) (Handle, error) {
	fd, err := sock.DialPacket(to)
	if err != nil {
		return Handle{}, &net.OpError{Op: "dial", Net: "udp", Addr: net.UDPAddrFromAddrPort(to), Err: err}
	}
	return attach(g, fd, h, outbound)
}

func attach(owner Group, fd int, h Handler, with flags) (Handle, error) {
	g := engine.Reveal(owner)
	if err := g.RT.Start(); err != nil {
		sock.Close(fd)
		return Handle{}, err
	}
	if !g.Enter(with&outbound != 0) {
		sock.Close(fd)
		op := "listen"
		if with&outbound != 0 {
			op = "dial"
		}
		return Handle{}, &net.OpError{Op: op, Net: "udp", Err: net.ErrClosed}
	}
	c := &Conn{group: g, owner: owner, handler: h, flags: with}
	c.end.FD, c.end.Target = fd, (*target)(c)
	c.local, c.peer, c.kind = sock.Inspect(fd)
	c.task.Init(g.RT, (*connTask)(c))
	g.Table.Add(&c.end)
	handle := c.Handle()
	c.task.WakeOn(g.NextWorker())
	return handle, nil
}

// Handle is a reference to the socket for other goroutines and for later.
func (c *Conn) Handle() Handle { return Handle{group: c.group, token: c.end.Token} }

// Value is what SetValue stored, or nil: the handler's own state of this socket.
func (c *Conn) Value() any { return c.value }

// SetValue stores the handler's own state of this socket.
func (c *Conn) SetValue(v any) { c.value = v }

// Now is the current time as of the worker's tick: it costs nearly nothing, and is
// good to well under a millisecond as long as handlers are quick.
func (c *Conn) Now() time.Time { return c.group.RT.Time(c.driver.Cx.Now()) }

// Worker is the index of the worker the handler runs on, from 0. It may be another
// one next time.
func (c *Conn) Worker() int { return c.driver.Cx.Worker() }

// Group is the group the socket belongs to.
func (c *Conn) Group() Group { return c.owner }

// LocalAddr is the address of this end. It stays known after the end.
func (c *Conn) LocalAddr() netip.AddrPort { return c.local }

// RemoteAddr is the peer of a connected socket, else invalid.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.peer }

// opError wraps an error as package net does. to is what it is about, or invalid.
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
