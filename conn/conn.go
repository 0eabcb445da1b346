package conn

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A Conn is one byte-stream connection. Its methods are for its handler, while
// a method of that runs; Handle is for everybody else.
type Conn struct {
	endpoint
	task    sched.Task
	group   *Group
	handler Handler
	peer    netip.AddrPort // of TCP, fixed before attach, but of a race when it is won, under mu
	unix    *net.UnixAddr  // the same of a Unix socket; nil: TCP
	client  net.Addr       // who the peer speaks for; nil: itself. The task writes it, under mu

	// The task's alone, on whichever worker runs it.
	driver   *Driver // that worker's
	home     *Driver // where it receives, or last did, and its chunks lie; before that, where its first operation went
	outgoing *Driver // where its last Connect or Send went
	flags    flags
	in       input
	queued   []byte  // written, behind what is in flight
	inFlight int     // at most this many bytes of the send in flight are unsent
	extras   *extras // nil: none was ever needed
	cause    error   // what OnClose is given
	value    any
	dial     net.Addr // where to connect to, until connected: then it changes, under mu
	begun    uint16   // the worker it began on

	mu     sync.Mutex // guards inbox; never held while a handler runs
	inbox  inbox
	charge charge // with MaxMemory alone
}

// extras are what few connections need.
type extras struct {
	clock      clock
	place      place // in the line for memory
	notifySent []func(error)

	notifyClose []func()
	race        *race // while the connection is being dialled; nil: to one address
}

func (c *Conn) more() *extras {
	if c.extras == nil {
		c.extras = new(extras)
	}
	return c.extras
}

type flags uint32

const (
	opened     flags = 1 << iota // OnOpen has been called
	receiving                    // a Recv is in flight
	stopping                     // and a Cancel for it
	connecting                   // a Connect is in flight
	paused                       // too much is queued: OnData waits for LowWater
	starved                      // MaxMemory is near: OnData waits until there is less
	held                         // PauseRead was called: OnData waits for ResumeRead
	unseen                       // bytes came in meanwhile
	deaf                         // CloseRead was called: what comes in is dropped
	ended                        // the peer's FIN was received
	endSeen                      // and OnEOF called
	mute                         // CloseWrite was called: flush, FIN
	overdue                      // the write deadline has passed: writes fail
	closing                      // Close was called: flush, FIN, wait for the peer's
	finished                     // our FIN was sent
	broken                       // nothing more is sent or received: tear down
	reset                        // and the peer is to see that
	counted                      // among those that were accepted
)

// waiting are the reasons why a handler is not called with what has come.
const waiting = paused | held | starved

func (c *Conn) is(f flags) bool { return c.flags&f != 0 }

func (c *Conn) set(f flags) { c.flags |= f }

func (c *Conn) clear(f flags) { c.flags &^= f }

// newConn makes a connection of a descriptor, which nobody knows before attach.
func newConn(g *Group, fd int, h Handler) *Conn {
	c := &Conn{group: g, handler: h}
	c.fd, c.target = fd, c
	c.task.Init(g.rt, c)
	return c
}

// attach makes the connection known to the group. From then on commands may
// reach it, and run its task.
func (c *Conn) attach() {
	c.group.live.Add(1)
	c.group.table.add(&c.endpoint)
}

// Handle is a reference to the connection for other goroutines and for later.
func (c *Conn) Handle() Handle { return Handle{group: c.group, token: c.token} }

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

// SetHandler has another handler told of what comes from now on: when the peers have
// agreed on another protocol. It is not told of what has been. If anything is unread its
// OnData is called soon.
func (c *Conn) SetHandler(h Handler) {
	c.handler = h
	if len(c.in.unread) > 0 && !c.is(closing|broken) {
		c.set(unseen)
		c.driver.cx.Wake(c.task.Waker())
	}
}

// Now is the current time as of the worker's tick: it costs nearly nothing, and
// is good to well under a millisecond as long as handlers are quick.
func (c *Conn) Now() time.Time { return c.group.rt.Time(c.driver.cx.Now()) }

// Worker is the index of the worker the handler runs on, from 0: for state that
// workers should not share. It may be another one next time.
func (c *Conn) Worker() int { return c.driver.cx.Worker() }

// Group is the group the connection belongs to.
func (c *Conn) Group() *Group { return c.group }

// RemoteAddr is the peer's address: a *net.TCPAddr or a *net.UnixAddr. It stays
// known after the connection has ended.
func (c *Conn) RemoteAddr() net.Addr {
	if c.client != nil {
		return c.client
	}
	return c.peerAddr()
}

// SetRemoteAddr has RemoteAddr return the address of whom the peer, a proxy, speaks
// for. Limits by source are the peer's all the same.
func (c *Conn) SetRemoteAddr(client net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
}

// remote is RemoteAddr for others than the task.
func (c *Conn) remote() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.RemoteAddr()
}

func (c *Conn) peerAddr() net.Addr {
	switch {
	case c.unix != nil:
		return c.unix
	case !c.peer.IsValid() && c.dial != nil: // a race
		return c.dial
	}
	return net.TCPAddrFromAddrPort(c.peer)
}

// LocalAddr is this end's address, nil when the connection has ended.
func (c *Conn) LocalAddr() net.Addr { return localAddr(c.fd) }

func (c *Conn) network() string {
	if c.unix != nil {
		return "unix"
	}
	return "tcp"
}
