package packet

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/ready"
)

// SyscallConn gives access to the descriptor, above all for socket options. After Close its methods
// return an error that matches net.ErrClosed. The descriptor is closed once no function uses it.
//
// Read and Write call their function until it returns true, and wait in between until the socket is
// ready. The first Read makes the kernel stop joining datagrams for good. From then on the Socket's
// own reads receive one datagram per system call and keep none. Datagrams that they had kept before
// are for the next of them, in order. The function does not get these. Datagrams that the kernel
// had joined before still come joined.
func (s *Socket) SyscallConn() (syscall.RawConn, error) { return rawPackets{s}, nil }

// A rawPackets is the syscall.RawConn of a Socket.
type rawPackets struct{ s *Socket }

// Control implements syscall.RawConn.
func (r rawPackets) Control(f func(fd uintptr)) error {
	fd, err := r.s.udp.sock.EnterAny()
	if err != nil {
		return r.s.opError("raw-control", err)
	}
	defer r.s.udp.sock.Leave()
	f(uintptr(fd))
	return nil
}

// Read implements syscall.RawConn.
func (r rawPackets) Read(f func(fd uintptr) (done bool)) error {
	a := &r.s.arrived
	return r.do("raw-read", ready.In, func(fd uintptr) bool {
		a.separate(int(fd))
		return f(fd)
	})
}

// Write implements syscall.RawConn.
func (r rawPackets) Write(f func(fd uintptr) (done bool)) error {
	return r.do("raw-write", ready.Out, f)
}

func (r rawPackets) do(op string, d ready.Direction, f func(fd uintptr) bool) (err error) {
	s := r.s
	var turn *ready.Wait
	defer func() { s.pass(d, turn) }()
	var try ready.Attempt
	for {
		fd, err := s.udp.sock.Enter(d, &try)
		if err != nil {
			return s.opError(op, err)
		}
		if s.call(f, fd) {
			return nil
		}
		if turn, err = s.await(op, d, turn, try, forOther); err != nil {
			return err
		}
	}
}

// call calls f, which may panic.
func (s *Socket) call(f func(fd uintptr) bool, fd int) bool {
	defer s.udp.sock.Leave()
	return f(uintptr(fd))
}
