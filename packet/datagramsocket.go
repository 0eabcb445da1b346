package packet

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A DatagramSocket is a datagram socket for tasks and goroutines, used through one of its two
// forms: UDPSocket and UnixDatagram. A is the type of the addresses.
//
// Each wait has the forms of package syncx: X(ctx) waits in a task or a goroutine. XFuture is for
// stackless tasks, Select and Timeout. TryX does not wait. The caller makes the system call itself.
// A call that finds the socket not ready waits until a worker's reactor reports that it is. Of the
// receives that wait, one is woken at a time. A call is abandoned when its task is aborted, or when
// its future has lost a race. It has received and sent nothing then. If it was woken, another
// receive is woken instead.
//
// All methods may be called from any goroutine and from tasks on any worker, several at once. Each
// datagram is received by one call. Receives return one datagram each. They cut off a datagram that
// is longer than the buffer, as package net does. The kernel's buffers are the only ones: it drops
// datagrams that arrive while its receive buffer is full.
//
// Errors are *net.OpError. They match net.ErrClosed after Close, os.ErrDeadlineExceeded after a
// deadline, and the errno otherwise. A connected socket whose peer does not exist gets
// syscall.ECONNREFUSED. A datagram that is too long gets syscall.EMSGSIZE. The socket goes on after
// an errno. The errors of sched.Await are not wrapped.
//
// When the group drains or aborts its connections, the socket is closed.
type DatagramSocket[A any] struct {
	caller
	network string
	kind    sock.Kind
	local   A
	peer    A
	dialed  bool // there is a peer
	codec   codec[A]
	wants   atomic.Uint32     // the parts of a ControlMessage that the kernel reports
	last    atomic.Pointer[A] // the last sender, if decoding one allocates
}

// A UDPSocket is a UDP socket for tasks and goroutines. An IPv6 socket reports IPv4 peers by their
// IPv4 addresses, not by mapped ones.
type UDPSocket = DatagramSocket[netip.AddrPort]

// A codec converts addresses of type A from and to those of the kernel and of package net.
type codec[A any] interface {
	encode(to A, wide bool, sa *reactor.Sockaddr) syscall.Errno
	decode(sa *reactor.Sockaddr) A
	equals(last A, sa *reactor.Sockaddr) bool // reports whether decode would return last
	addr(A) net.Addr                          // nil: none
	of(addr net.Addr, wide bool) (A, error)   // errAddressType, errNoAddress for a nil pointer, or an errno
}

// ListenUDP serves a UDP socket, which may be connected. The group works on a copy of the
// descriptor, so pc may be closed at once. It fails if the runtime cannot start. When the group is
// ending, the error matches net.ErrClosed.
func ListenUDP(g Group, pc *net.UDPConn) (*UDPSocket, error) {
	fd, err := sock.OfPacketConn(pc)
	if err != nil {
		return nil, err
	}
	return newUDP(g, fd)
}

// DialUDP makes a UDP socket that is connected to an address: it receives only from there. Nothing
// is sent, so it does not wait.
func DialUDP(g Group, to netip.AddrPort) (*UDPSocket, error) {
	fd, err := sock.DialPacket(to)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "udp", Addr: net.UDPAddrFromAddrPort(to), Err: err}
	}
	return newUDP(g, fd)
}

func newUDP(g Group, fd int) (*UDPSocket, error) {
	s := new(UDPSocket)
	if err := openUDP(s, g, fd); err != nil {
		return nil, err
	}
	return s, nil
}

func openUDP(s *UDPSocket, g Group, fd int) error {
	s.network, s.codec = "udp", udpCodec{}
	s.local, s.peer, s.kind = sock.Inspect(fd)
	s.dialed = s.peer.IsValid()
	return s.open(g, fd)
}

func (s *DatagramSocket[A]) open(owner Group, fd int) error {
	g := engine.Reveal(owner)
	s.calls, s.errors = reactor.NewCalls(g.Reactor), s
	err := s.sock.Open(g, fd, s.dialed)
	if err == nil {
		s.from = originOf(g, s.codec.addr(s.local), s.dialed)
		s.from.Outside.Begun.Add(1)
		s.sock.NotifyEnd(func() {
			s.from.Outside.Ended.Add(1)
			g.Origins.Unuse(s.from)
		})
		return nil
	}
	op := "listen"
	if s.dialed {
		op = "dial"
	}
	return s.opError(op, nil, err)
}

// LocalAddr returns the address of this end. It is known after Close, too.
func (s *DatagramSocket[A]) LocalAddr() A { return s.local }

// RemoteAddr returns the peer of a connected socket. For other sockets it is the zero value of A.
func (s *DatagramSocket[A]) RemoteAddr() A { return s.peer }

// Close closes the socket. All waiting and all later calls return an error that matches
// net.ErrClosed. Close does not wait: ClosedFuture is done when the port is free. A second Close
// also returns an error that matches net.ErrClosed.
func (s *DatagramSocket[A]) Close() error {
	if err := s.sock.Close(); err != nil {
		return s.opError("close", nil, err)
	}
	return nil
}

// Release implements sched.Releaser: it closes a socket that is a task's result and that no caller
// takes.
func (s *DatagramSocket[A]) Release() {
	if s != nil {
		_ = s.Close() // it may be closed
	}
}

// SetDeadline sets the deadlines of receives and of sends, including those that wait. The zero time
// is no deadline. After a deadline all calls fail until another one is set. Deadlines are as exact
// as the runtime's timers, usually within 2 ms.
func (s *DatagramSocket[A]) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

// SetReadDeadline is SetDeadline for receives.
func (s *DatagramSocket[A]) SetReadDeadline(t time.Time) error { return s.setDeadline(ready.In, t) }

// SetWriteDeadline is SetDeadline for sends.
func (s *DatagramSocket[A]) SetWriteDeadline(t time.Time) error { return s.setDeadline(ready.Out, t) }

func (s *DatagramSocket[A]) setDeadline(d ready.Direction, t time.Time) error {
	at := time.Duration(0)
	if !t.IsZero() {
		at = max(1, s.sock.Group().RT.At(t))
	}
	if err := s.sock.SetDeadline(d, at); err != nil {
		return s.opError("set", nil, err)
	}
	return nil
}

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes. The system's limit
// (net.core.rmem_max) bounds it silently.
func (s *DatagramSocket[A]) SetReadBuffer(bytes int) error {
	return s.set(func(fd int) error { return sock.SetReadBuffer(fd, bytes) })
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes, bounded by net.core.wmem_max.
func (s *DatagramSocket[A]) SetWriteBuffer(bytes int) error {
	return s.set(func(fd int) error { return sock.SetWriteBuffer(fd, bytes) })
}

// File returns a duplicate of the descriptor. It is not supported on Windows.
func (s *DatagramSocket[A]) File() (f *os.File, err error) {
	err = s.set(func(fd int) error {
		f, err = sock.File(fd, s.network+":"+fmt.Sprint(s.local))
		return err
	})
	return f, err
}

// SyscallConn is for setting options, by Control. Read and Write of the RawConn call their function
// once. If it returns false, the error matches errors.ErrUnsupported.
func (s *DatagramSocket[A]) SyscallConn() (syscall.RawConn, error) { return rawSocket[A]{s}, nil }

func (s *DatagramSocket[A]) set(f func(fd int) error) error {
	fd, err := s.sock.EnterAny()
	if err == nil {
		defer s.sock.Leave()
		err = f(fd)
	}
	if err != nil {
		return s.opError("set", nil, err)
	}
	return nil
}

// A rawSocket is the syscall.RawConn of a socket.
type rawSocket[A any] struct{ s *DatagramSocket[A] }

// Control implements syscall.RawConn.
func (r rawSocket[A]) Control(f func(fd uintptr)) error {
	return r.s.set(func(fd int) error { f(uintptr(fd)); return nil })
}

// Read implements syscall.RawConn.
func (r rawSocket[A]) Read(f func(fd uintptr) (done bool)) error { return r.once(f) }

// Write implements syscall.RawConn.
func (r rawSocket[A]) Write(f func(fd uintptr) (done bool)) error { return r.once(f) }

func (r rawSocket[A]) once(f func(fd uintptr) bool) error {
	return r.s.set(func(fd int) error {
		if !f(uintptr(fd)) {
			return sock.ErrWouldWait
		}
		return nil
	})
}

// opError implements caller's errors.
func (s *DatagramSocket[A]) opError(op string, addr *reactor.Sockaddr, err error) error {
	e := &net.OpError{Op: op, Net: s.network, Source: s.codec.addr(s.local), Err: closedOr(err)}
	if addr != nil {
		e.Addr = s.codec.addr(s.codec.decode(addr))
	} else if s.dialed {
		e.Addr = s.codec.addr(s.peer)
	}
	return e
}

// encode sets sa to the address to send to.
func (s *DatagramSocket[A]) encode(to A, sa *reactor.Sockaddr) error {
	var err error
	if s.dialed {
		err = net.ErrWriteToConnected
	} else if errno := s.codec.encode(to, s.kind.Wide, sa); errno != 0 {
		err = sock.Error("sendto", errno)
	} else {
		return nil
	}
	return &net.OpError{Op: "write", Net: s.network, Source: s.codec.addr(s.local), Addr: s.codec.addr(to), Err: err}
}

// sender is the address that a datagram came from. Where decoding allocates, the last sender is
// kept: the next datagram mostly has the same sender.
func (s *DatagramSocket[A]) sender(sa *reactor.Sockaddr) A {
	if last := s.last.Load(); last != nil && s.codec.equals(*last, sa) {
		return *last
	}
	from := s.codec.decode(sa)
	if s.codec.equals(from, sa) {
		s.keep(from)
	}
	return from
}

func (s *DatagramSocket[A]) keep(from A) { s.last.Store(&from) }

// A udpCodec is the codec of UDP.
type udpCodec struct{}

func (udpCodec) encode(to netip.AddrPort, wide bool, sa *reactor.Sockaddr) syscall.Errno {
	return sa.SetAddrPort(to, wide)
}

func (udpCodec) decode(sa *reactor.Sockaddr) netip.AddrPort { return sa.AddrPort() }

func (udpCodec) equals(netip.AddrPort, *reactor.Sockaddr) bool { return false }

func (udpCodec) addr(a netip.AddrPort) net.Addr {
	if !a.IsValid() {
		return nil
	}
	return net.UDPAddrFromAddrPort(a)
}

func (udpCodec) of(addr net.Addr, wide bool) (netip.AddrPort, error) {
	a, ok := addr.(*net.UDPAddr)
	switch {
	case !ok:
		return netip.AddrPort{}, errAddressType
	case a == nil:
		return netip.AddrPort{}, errNoAddress
	}
	return destination(a, wide)
}
