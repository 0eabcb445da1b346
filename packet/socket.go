package packet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/internal/sock"
)

// A Socket is a packet socket for ordinary goroutines. It is a net.PacketConn, and a net.Conn if it
// is connected. It has the methods of *net.UDPConn, and ReadBatch and WriteBatch as
// golang.org/x/net/ipv4 has them. Reads return one datagram each. They cut off a datagram that is
// longer than the buffer. Writes return the kernel's error for their datagram. Any goroutine may
// set deadlines and close the socket at any time.
//
// The goroutine that reads or writes makes the system call itself. It waits only if nothing has
// arrived, or if the kernel's send buffer is full. Then a worker's reactor reports when the socket
// is ready, and the goroutine makes the call again. The methods are for goroutines that are not
// workers'.
//
// On Linux 5.0 or later the kernel joins successive datagrams of one sender (UDP_GRO). Each read
// returns a single datagram. The others are kept for the next reads, at most 512 KiB, in addition
// to the kernel's buffer. Control messages are in the system's form. Each datagram has the control
// messages that it arrived with, at most 256 bytes. On Windows no control messages are received. A
// write with control messages fails there, with an error that matches errors.ErrUnsupported.
//
// Errors are *net.OpError. A socket that the group has closed acts as after Close, but Close itself
// still returns nil.
type Socket struct {
	udp    UDPSocket
	addr   *net.UDPAddr // of this end
	remote *net.UDPAddr // nil: the socket is not connected
	closed atomic.Bool  // Close was called

	arrived arrivals

	mu      sync.Mutex         // guards the fields below
	readBy  alarm.Bell[Socket] // deadline of reads
	writeBy alarm.Bell[Socket] // deadline of writes
}

var (
	_ net.PacketConn = (*Socket)(nil)
	_ net.Conn       = (*Socket)(nil)
	_ syscall.Conn   = (*Socket)(nil)
)

// ListenSocket serves a UDP socket for ordinary goroutines. The group works on a copy of
// the descriptor, so pc may be closed at once. conn.Group.Drain and Abort close the socket.
func ListenSocket(g Group, pc *net.UDPConn) (*Socket, error) {
	fd, err := sock.OfPacketConn(pc)
	if err != nil {
		return nil, err
	}
	return newSocket(g, fd)
}

// DialSocket makes a socket that is connected to an address, and serves it as ListenSocket does. It
// does not wait.
func DialSocket(g Group, to netip.AddrPort) (*Socket, error) {
	fd, err := sock.DialPacket(to)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "udp", Addr: net.UDPAddrFromAddrPort(to), Err: err}
	}
	return newSocket(g, fd)
}

func newSocket(g Group, fd int) (*Socket, error) {
	s := new(Socket)
	if err := openUDP(&s.udp, g, fd); err != nil {
		return nil, err
	}
	s.addr = net.UDPAddrFromAddrPort(s.udp.local)
	if s.udp.dialed {
		s.remote = net.UDPAddrFromAddrPort(s.udp.peer)
	}
	s.udp.sock.NotifyEnd(s.ended)
	return s, nil
}

// Close implements net.Conn. It returns when the socket is closed and its port is free. So it waits
// for functions of SyscallConn that run, as in package net: such a function must not call it.
func (s *Socket) Close() error {
	if s.closed.Swap(true) {
		return s.opError("close", net.ErrClosed)
	}
	_ = s.udp.Close() // the group may have closed it before
	return s.udp.Closed(context.Background())
}

// Release implements sched.Releaser: it closes a socket that is a task's result and that no caller
// takes. As when the group closes the socket, Release does not wait, and Close still returns nil.
func (s *Socket) Release() {
	if s != nil {
		_ = s.udp.Close() // it may be closed
	}
}

// Closed waits until the socket was closed, by Close or by the group, and its port is free.
// It returns nil also when the workers have stopped.
func (s *Socket) Closed(ctx context.Context) error { return s.udp.Closed(ctx) }

// LocalAddr implements net.Conn. It returns a *net.UDPAddr, which must not be changed.
func (s *Socket) LocalAddr() net.Addr { return s.addr }

// RemoteAddr implements net.Conn. It returns nil unless the socket is connected.
func (s *Socket) RemoteAddr() net.Addr {
	if s.remote == nil {
		return nil
	}
	return s.remote
}

// File returns a copy of the socket's descriptor, as that of *net.UDPConn does. Other code may read
// from the copy, so the kernel stops joining datagrams, as for Read of SyscallConn. On Windows the
// error matches errors.ErrUnsupported.
func (s *Socket) File() (*os.File, error) {
	fd, err := s.udp.sock.EnterAny()
	if err != nil {
		return nil, s.opError("file", err)
	}
	defer s.udp.sock.Leave()
	s.arrived.separate(fd)
	f, err := sock.File(fd, fmt.Sprintf("udp:%v->%v", s.addr, orNothing(s.remote)))
	if err != nil {
		return nil, s.opError("file", err)
	}
	return f, nil
}

// orNothing is an address as part of a file's name.
func orNothing(addr *net.UDPAddr) string {
	if addr == nil {
		return ""
	}
	return addr.String()
}

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes. The system's limit
// (net.core.rmem_max) bounds it silently.
func (s *Socket) SetReadBuffer(bytes int) error { return s.udp.SetReadBuffer(bytes) }

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes, bounded by net.core.wmem_max.
func (s *Socket) SetWriteBuffer(bytes int) error { return s.udp.SetWriteBuffer(bytes) }

// SetDeadline implements net.Conn.
func (s *Socket) SetDeadline(t time.Time) error { return s.setDeadlines(t, true, true) }

// SetReadDeadline implements net.Conn.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.setDeadlines(t, true, false) }

// SetWriteDeadline implements net.Conn.
func (s *Socket) SetWriteDeadline(t time.Time) error { return s.setDeadlines(t, false, true) }

// Deadlines are timers of package time. So they expire also while no worker is free.

func (s *Socket) setDeadlines(t time.Time, read, write bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.udp.sock.Closed() { // ended may have been called
		return s.opError("set", net.ErrClosed)
	}
	if read {
		s.expire(ready.In, s.readBy.Set(t, s, (*Socket).readLate))
	}
	if write {
		s.expire(ready.Out, s.writeBy.Set(t, s, (*Socket).writeLate))
	}
	return nil
}

func (s *Socket) readLate() { s.ring(ready.In, &s.readBy) }

func (s *Socket) writeLate() { s.ring(ready.Out, &s.writeBy) }

func (s *Socket) ring(d ready.Direction, by *alarm.Bell[Socket]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by.Ring() {
		s.expire(d, true)
	}
}

// expire sets whether a deadline has passed. The lock is held, so that the calls are in the order
// of the changes.
func (s *Socket) expire(d ready.Direction, passed bool) {
	if passed {
		s.udp.sock.Expire(d)
	} else {
		_ = s.udp.sock.SetDeadline(d, 0) // the socket may be closed
	}
}

// ended is called once the descriptor is closed. No read has the lock of the arrivals then. A timer
// would keep the Socket in memory, and kept datagrams would keep their room.
func (s *Socket) ended() {
	s.mu.Lock()
	s.readBy.Stop()
	s.writeBy.Stop()
	s.mu.Unlock()
	s.arrived.drop()
}

func (s *Socket) opError(op string, err error) error { return s.udp.opError(op, nil, err) }

// spareWaits are Waits for calls that must wait.
var spareWaits = sync.Pool{New: func() any { return new(ready.Wait) }}

// A purpose is what a call waits for.
type purpose uint8

const (
	forArrivals purpose = iota // it takes the turn, since leave gives it to such calls alone
	forOther                   // it wants room, or is a user's function, which decides itself
)

// await waits after an attempt that found the socket not ready. w is nil at first. After an error
// the call has failed, and its Wait is put back. After nil the caller tries again, and passes w to
// the next await or to pass.
func (s *Socket) await(op string, d ready.Direction, w *ready.Wait, a ready.Attempt, of purpose) (*ready.Wait, error) {
	if w == nil {
		w = spareWaits.Get().(*ready.Wait)
		w.Takes = of == forArrivals
	}
	w.Attempt = a
	var unread *atomic.Bool
	if of == forArrivals {
		unread = &s.arrived.unread
	}
	if err := s.udp.sock.Block(d, w, unread); err != nil {
		s.udp.sock.Pass(nil, d, w)
		spareWaits.Put(w)
		return nil, s.opError(op, err)
	}
	return w, nil
}

// pass ends the turn of a call, if the call has waited.
func (s *Socket) pass(d ready.Direction, w *ready.Wait) {
	if w != nil {
		s.udp.sock.Pass(nil, d, w)
		spareWaits.Put(w)
	}
}
