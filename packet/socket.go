package packet

import (
	"net"
	"net/netip"
	"sync"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/internal/waiter"
)

// A Socket is a packet socket for ordinary goroutines: a net.PacketConn, and
// if it is connected a net.Conn, over a socket that the group's workers serve. It
// behaves as a *net.UDPConn does: reads return one datagram each and cut off what
// does not fit, writes return what the kernel said of their datagram, and deadlines
// may be set, and the socket closed, from any goroutine at any time. Errors are *net.OpError:
// that of a write that finds Config.MaxWrite bytes queued matches ErrWriteQueueFull. A socket that
// the group has closed acts as after Close, but Close itself still returns nil.
//
// What has arrived and is not read yet is kept up to Config.MaxRead bytes or the size
// of SetReadBuffer, whichever is more, in addition to the kernel's buffer; what comes
// then is dropped.
type Socket struct {
	handle Handle
	group  *engine.Group
	local  netip.AddrPort
	peer   netip.AddrPort
	ended  chan struct{} // closed when the socket has ended

	mu     sync.Mutex // guards what follows; taken before that of the Conn, never after it
	closed bool       // Close was called
	gone   bool       // OnClose was

	queue   bufs.FIFO[datagram]
	bytes   int // cost of what is queued
	room    int
	dropped uint64
	failed  error              // of the network, for the next read
	readers waiter.List        // while there are some, queue is empty and failed nil
	readBy  alarm.Bell[Socket] // of reads

	writers waiter.List        // for what the kernel says of their datagrams
	writeBy alarm.Bell[Socket] // of writes
}

type datagram struct {
	data []byte
	from netip.AddrPort
}

var (
	_ net.PacketConn = (*Socket)(nil)
	_ net.Conn       = (*Socket)(nil)
)

// Open serves a UDP socket for ordinary goroutines. The group works on a copy of
// the descriptor, so pc may be closed at once. conn.Group.Drain and Abort close the socket.
func Open(g Group, pc *net.UDPConn) (*Socket, error) {
	fd, err := sock.OfPacketConn(pc)
	if err != nil {
		return nil, err
	}
	return newSocket(g, fd, 0)
}

// OpenDialled is Open for a new socket that is connected to an address.
func OpenDialled(g Group, to netip.AddrPort) (*Socket, error) {
	fd, err := sock.DialPacket(to)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "udp", Addr: net.UDPAddrFromAddrPort(to), Err: err}
	}
	return newSocket(g, fd, outbound)
}

func newSocket(owner Group, fd int, with flags) (*Socket, error) {
	g := engine.Reveal(owner)
	s := &Socket{group: g, room: g.MaxRead, ended: bubble.Chan[struct{}](0)}
	s.local, s.peer, _ = sock.Inspect(fd)
	var err error
	s.handle, err = attach(owner, fd, socketHandler{s: s}, with)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close implements net.Conn: it returns when the socket is closed. What was
// written has been sent, or is for no longer than Config.Linger.
func (s *Socket) Close() error {
	var u waiter.Wakeup
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.opError("close", netip.AddrPort{}, net.ErrClosed)
	}
	s.closed = true
	s.readBy.Stop()
	u.AddAll(&s.readers, net.ErrClosed)
	s.mu.Unlock()
	u.Wake()
	_ = s.handle.Close() // the group may have been quicker
	select {
	case <-s.ended:
	case <-s.group.RT.Done():
	}
	s.mu.Lock()
	s.writeBy.Stop() // until here it was of use to the writes that wait
	s.mu.Unlock()
	return nil
}

// LocalAddr implements net.Conn.
func (s *Socket) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(s.local) }

// RemoteAddr implements net.Conn; nil unless the socket is connected.
func (s *Socket) RemoteAddr() net.Addr {
	if !s.peer.IsValid() {
		return nil
	}
	return net.UDPAddrFromAddrPort(s.peer)
}

// Dropped is the number of datagrams that were dropped because nobody read.
func (s *Socket) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// SetReadBuffer sets the size of the kernel's receive buffer, and has as much kept
// beside it.
func (s *Socket) SetReadBuffer(bytes int) error {
	err := s.do(func(c *Conn) error { return c.SetReadBuffer(bytes) })
	if err == nil {
		s.mu.Lock()
		s.room = max(s.room, bytes)
		s.mu.Unlock()
	}
	return err
}

// SetWriteBuffer sets the size of the kernel's send buffer.
func (s *Socket) SetWriteBuffer(bytes int) error {
	return s.do(func(c *Conn) error { return c.SetWriteBuffer(bytes) })
}

// do runs f on a worker and waits for it.
func (s *Socket) do(f func(*Conn) error) error {
	answer := bubble.Chan[error](1)
	switch err := s.handle.Do(func(c *Conn) { answer <- f(c) }); err {
	case nil:
		select {
		case err := <-answer:
			return err
		case <-s.ended:
		case <-s.group.RT.Done():
		}
	case ErrTooManyCalls:
		return s.opError("set", netip.AddrPort{}, err)
	}
	return s.opError("set", netip.AddrPort{}, net.ErrClosed)
}

func (s *Socket) opError(op string, to netip.AddrPort, err error) error {
	e := &net.OpError{Op: op, Net: "udp", Source: s.LocalAddr(), Err: err}
	if to.IsValid() {
		e.Addr = net.UDPAddrFromAddrPort(to)
	}
	return e
}
