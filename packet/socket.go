package packet

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
)

// A Socket is a packet socket for ordinary goroutines: a net.PacketConn, and
// if it is connected a net.Conn, over a socket that the group's workers serve. It
// behaves as a *net.UDPConn does: reads return one datagram each and cut off what
// does not fit, writes return what the kernel said of their datagram, and deadlines
// may be set, and the socket closed, from any goroutine at any time.
//
// What has arrived and is not read yet is kept up to Config.MaxRead bytes or the size
// of SetReadBuffer, whichever is more, in addition to the kernel's buffer; what comes
// then is dropped.
type Socket struct {
	handle Handle
	group  *engine.Group
	local  netip.AddrPort
	peer   netip.AddrPort

	readDeadline, writeDeadline deadline
	closed                      chan struct{} // closed when the socket has ended
	closing                     chan struct{} // closed when Close was called
	closeOnce                   sync.Once

	mu      sync.Mutex // guards what follows
	queue   bufs.FIFO[datagram]
	bytes   int // cost of what is queued
	room    int
	dropped uint64
	err     error         // of the network, for the next read
	arrived chan struct{} // has an element when queue or err may have something
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
	g := owner.Engine()
	s := &Socket{
		group: g, room: g.MaxRead,
		closed: make(chan struct{}), closing: make(chan struct{}), arrived: make(chan struct{}, 1),
	}
	s.readDeadline.init()
	s.writeDeadline.init()
	s.local, s.peer, _ = sock.Inspect(fd)
	var err error
	s.handle, err = attach(owner, fd, socketHandler{s: s}, with)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// socketHandler is the worker's side of a Socket.
type socketHandler struct {
	Base
	s *Socket
}

func (h socketHandler) OnPackets(_ *Conn, batch []Packet) error {
	s := h.s
	s.mu.Lock()
	for _, p := range batch {
		if s.bytes >= s.room {
			s.dropped++
			continue
		}
		s.bytes += len(p.Data) + cost
		s.queue.Push(datagram{append([]byte(nil), p.Data...), p.From})
	}
	s.mu.Unlock()
	s.signal()
	return nil
}

// OnError is told only what the network says: each write has its own answer.
func (h socketHandler) OnError(_ *Conn, err error) error {
	h.s.mu.Lock()
	h.s.err = err
	h.s.mu.Unlock()
	h.s.signal()
	return nil
}

func (h socketHandler) OnClose(*Conn, error) { close(h.s.closed) }

// signal wakes one reader, who passes it on if something is left.
func (s *Socket) signal() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// take is the next datagram or error, if there is one.
func (s *Socket) take() (d datagram, err error, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err; err != nil {
		s.err = nil
		if s.queue.Len() > 0 {
			s.signal()
		}
		return d, err, true
	}
	if s.queue.Len() == 0 {
		return d, nil, false
	}
	d = s.queue.Pop()
	s.bytes -= len(d.data) + cost
	if s.queue.Len() > 0 {
		s.signal()
	}
	return d, nil, true
}

// ReadFromAddrPort is ReadFrom without an allocation for the address.
func (s *Socket) ReadFromAddrPort(p []byte) (int, netip.AddrPort, error) {
	for {
		expired, moved := s.readDeadline.wait()
		select { // what ends a read goes first, as in package net
		case <-s.closing:
			return 0, netip.AddrPort{}, s.opError("read", s.peer, net.ErrClosed)
		case <-s.closed:
			return 0, netip.AddrPort{}, s.opError("read", s.peer, net.ErrClosed)
		case <-expired:
			return 0, netip.AddrPort{}, s.opError("read", s.peer, os.ErrDeadlineExceeded)
		default:
		}
		if d, err, ok := s.take(); ok {
			return copy(p, d.data), d.from, err
		}
		select {
		case <-s.arrived:
		case <-s.closing:
		case <-s.closed:
		case <-expired:
		case <-s.group.RT.Done():
			return 0, netip.AddrPort{}, s.opError("read", s.peer, net.ErrClosed)
		case <-moved:
		}
	}
}

// ReadFrom implements net.Conn.
func (s *Socket) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := s.ReadFromAddrPort(p)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// Read implements net.Conn.
func (s *Socket) Read(p []byte) (int, error) {
	n, _, err := s.ReadFromAddrPort(p)
	return n, err
}

// WriteToAddrPort sends a datagram and returns what the kernel said of it.
func (s *Socket) WriteToAddrPort(p []byte, to netip.AddrPort) (int, error) {
	switch {
	case s.peer.IsValid():
		return 0, s.opError("write", to, net.ErrWriteToConnected)
	case !to.IsValid():
		return 0, s.opError("write", to, errNoAddress)
	}
	return s.write(p, to)
}

// WriteTo implements net.Conn. addr is a *net.UDPAddr.
func (s *Socket) WriteTo(p []byte, addr net.Addr) (int, error) {
	a, ok := addr.(*net.UDPAddr)
	if !ok || a == nil {
		return 0, s.opError("write", netip.AddrPort{}, errNoAddress)
	}
	return s.WriteToAddrPort(p, a.AddrPort())
}

// Write implements net.Conn.
func (s *Socket) Write(p []byte) (int, error) {
	if !s.peer.IsValid() {
		return 0, s.opError("write", s.peer, errNoAddress)
	}
	return s.write(p, netip.AddrPort{})
}

func (s *Socket) write(p []byte, to netip.AddrPort) (int, error) {
	expired, moved := s.writeDeadline.wait()
	select {
	case <-s.closing:
		return 0, s.opError("write", to, net.ErrClosed)
	case <-expired:
		return 0, s.opError("write", to, os.ErrDeadlineExceeded)
	default:
	}
	answer := make(chan error, 1)
	cmd := command{
		kind: cmdSend, data: append([]byte(nil), p...), to: to,
		note: func(err error) { answer <- err },
	}
	if err := s.handle.tell(cmd); err != nil {
		return 0, s.opError("write", to, err)
	}
	for {
		select {
		case err := <-answer:
			if err != nil {
				return 0, err
			}
			return len(p), nil
		case <-expired: // it may still be sent
			return 0, s.opError("write", to, os.ErrDeadlineExceeded)
		case <-s.group.RT.Done():
			return 0, s.opError("write", to, net.ErrClosed)
		case <-moved:
			expired, moved = s.writeDeadline.wait()
		}
	}
}

// Close implements net.Conn: it returns when the socket is closed. What was
// written has been sent, or is for no longer than Config.Linger.
func (s *Socket) Close() error {
	again := true
	s.closeOnce.Do(func() { again = false; close(s.closing) })
	if again {
		return s.opError("close", netip.AddrPort{}, net.ErrClosed)
	}
	_ = s.handle.Close() // the group may have been quicker
	select {
	case <-s.closed:
	case <-s.group.RT.Done():
	}
	s.readDeadline.set(time.Time{}) // lets go of the timers
	s.writeDeadline.set(time.Time{})
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

// SetDeadline implements net.Conn.
func (s *Socket) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.setDeadline(&s.readDeadline, t) }

// SetWriteDeadline implements net.Conn.
func (s *Socket) SetWriteDeadline(t time.Time) error { return s.setDeadline(&s.writeDeadline, t) }

func (s *Socket) setDeadline(d *deadline, t time.Time) error {
	select {
	case <-s.closing:
		return s.opError("set", netip.AddrPort{}, net.ErrClosed)
	default:
		d.set(t)
		return nil
	}
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
	answer := make(chan error, 1)
	switch err := s.handle.Do(func(c *Conn) { answer <- f(c) }); err {
	case nil:
		select {
		case err := <-answer:
			return err
		case <-s.closed:
		case <-s.group.RT.Done():
		}
	case ErrTooManyCalls:
		return s.opError("set", netip.AddrPort{}, err)
	}
	return s.opError("set", netip.AddrPort{}, net.ErrClosed)
}

var errNoAddress = &net.AddrError{Err: "missing address; use a *net.UDPAddr"}

func (s *Socket) opError(op string, to netip.AddrPort, err error) error {
	e := &net.OpError{Op: op, Net: "udp", Source: s.LocalAddr(), Err: err}
	if to.IsValid() {
		e.Addr = net.UDPAddrFromAddrPort(to)
	}
	return e
}
