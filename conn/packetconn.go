package conn

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

// A PacketConn is a datagram socket that is served by a PacketHandler, one worker
// at a time: its methods are for the handler, while a method of that runs;
// PacketHandle is for everybody else. To spread the load of one address over the
// workers, give them sockets of their own with SO_REUSEPORT.
//
// A queue that is full drops what comes, as is usual with datagrams: the kernel
// what arrives and is not received in time, WriteTo what cannot be sent in time.
type PacketConn struct {
	end     engine.Endpoint // of the reactors' tokens
	task    sched.Task
	group   *Group
	handler PacketHandler
	local   netip.AddrPort
	peer    netip.AddrPort // of a connected socket; else invalid
	kind    sock.Kind

	// The task's alone, on whichever worker runs it.
	driver   *engine.Driver // that worker's
	home     *engine.Driver // where it receives, or last did, and its chunks lie; nil: nowhere yet
	outgoing *engine.Driver // where its last SendTo went
	flags    packetFlags
	out      *reactor.Batch            // written, behind what is in flight; nil: nothing
	notes    []note                    // for those in out
	sent     []func(to netip.AddrPort) // are called with each datagram that is queued
	inFlight int                       // cost of the batch in flight, at most
	cause    error                     // what OnClose is given
	value    any
	clock    packetClock
	closed   time.Duration // the tick in which the descriptor was closed; 0: it is open

	mu    sync.Mutex // guards inbox; never held while a handler runs
	inbox packetInbox
}

// A note is somebody who wants to know what became of one datagram of a batch.
type note struct {
	index int
	tell  func(error)
}

type packetFlags uint8

const (
	packetOpened    packetFlags = 1 << iota // OnOpen has been called
	packetReceiving                         // a RecvFrom is in flight
	packetStopping                          // and a Cancel for it
	packetClosing                           // Close was called: send what is queued
	packetBroken                            // nothing more is sent or received: tear down
	packetOutbound                          // it was dialled
	packetDrained                           // its handler has been told to come to an end
	packetTold                              // OnClose has been called
)

func (c *PacketConn) is(f packetFlags) bool { return c.flags&f != 0 }

// ListenPacket serves a UDP socket, and has h told of what arrives. The group works
// on a copy of the descriptor, so pc may be closed at once.
func (g *Group) ListenPacket(pc *net.UDPConn, h PacketHandler) (PacketHandle, error) {
	fd, err := sock.OfPacketConn(pc)
	if err != nil {
		return PacketHandle{}, err
	}
	return g.attachPacket(fd, h, 0)
}

// DialPacket serves a UDP socket that is connected to an address: it receives from
// there alone, and is told when nobody listens there. The error is that of a socket
// that cannot be made or connected, or of a runtime that cannot start; then h is not
// called.
func (g *Group) DialPacket(to netip.AddrPort, h PacketHandler) (PacketHandle, error) {
	fd, err := sock.DialPacket(to)
	if err != nil {
		return PacketHandle{}, &net.OpError{Op: "dial", Net: "udp", Addr: net.UDPAddrFromAddrPort(to), Err: err}
	}
	return g.attachPacket(fd, h, packetOutbound)
}

func (g *Group) attachPacket(fd int, h PacketHandler, with packetFlags) (PacketHandle, error) {
	if err := g.rt.Start(); err != nil {
		sock.Close(fd)
		return PacketHandle{}, err
	}
	c := &PacketConn{group: g, handler: h, flags: with}
	c.end.FD, c.end.Target = fd, (*packetTarget)(c)
	c.local, c.peer, c.kind = sock.Inspect(fd)
	c.task.Init(g.rt, c)
	g.core.Census.Join(with&packetOutbound != 0)
	g.core.Table.Add(&c.end)
	handle := c.Handle()
	c.task.WakeOn(g.nextWorker())
	return handle, nil
}

// Handle is a reference to the socket for other goroutines and for later.
func (c *PacketConn) Handle() PacketHandle { return PacketHandle{group: c.group, token: c.end.Token} }

// Value is what SetValue stored, or nil: the handler's own state of this socket.
func (c *PacketConn) Value() any { return c.value }

// SetValue stores the handler's own state of this socket.
func (c *PacketConn) SetValue(v any) { c.value = v }

// Now is the current time as of the worker's tick: it costs nearly nothing, and is
// good to well under a millisecond as long as handlers are quick.
func (c *PacketConn) Now() time.Time { return c.group.rt.Time(c.driver.Cx.Now()) }

// Worker is the index of the worker the handler runs on, from 0. It may be another
// one next time.
func (c *PacketConn) Worker() int { return c.driver.Cx.Worker() }

// Group is the group the socket belongs to.
func (c *PacketConn) Group() *Group { return c.group }

// LocalAddr is the address of this end. It stays known after the end.
func (c *PacketConn) LocalAddr() netip.AddrPort { return c.local }

// RemoteAddr is the peer of a connected socket, else invalid.
func (c *PacketConn) RemoteAddr() netip.AddrPort { return c.peer }

// opError wraps an error as package net does. to is what it is about, or invalid.
func (c *PacketConn) opError(op string, to netip.AddrPort, err error) error {
	e := &net.OpError{Op: op, Net: "udp", Source: net.UDPAddrFromAddrPort(c.local), Err: err}
	if !to.IsValid() {
		to = c.peer
	}
	if to.IsValid() {
		e.Addr = net.UDPAddrFromAddrPort(to)
	}
	return e
}
