package conn

import (
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/core"
)

// SyscallConn is the descriptor for system calls that Socket has no method for, above all
// socket options. It can be used beside the reactor, from any goroutine, and after Close its
// methods return net.ErrClosed. A duplicate of the descriptor does not delay the connection's
// end:
//
//   - Control gives its function a duplicate of the descriptor.
//   - Read does so too. Received bytes are in general not in the kernel any more. A read then ends
//     with EAGAIN while the connection lives, which is enough to check whether it does.
//   - Write calls its function when everything written before has left, and nothing else is
//     written meanwhile. The function must not use the Socket.
//
// Neither waits until the descriptor is ready: if its function returns false, the error matches
// errors.ErrUnsupported.
func (s *Socket) SyscallConn() (syscall.RawConn, error) { return rawStream{s}, nil }

// A rawStream is the syscall.RawConn of a Socket.
type rawStream struct{ s *Socket }

// Control implements syscall.RawConn.
func (r rawStream) Control(f func(fd uintptr)) error {
	return r.do("raw-control", func(fd uintptr) bool { f(fd); return true })
}

// Read implements syscall.RawConn.
func (r rawStream) Read(f func(fd uintptr) (done bool)) error { return r.do("raw-read", f) }

func (r rawStream) do(op string, f func(fd uintptr) bool) error {
	s := r.s
	err := net.ErrClosed
	if c := s.conn(); c != nil && !s.duplex.State().Closed {
		err = core.LendFD(c, f)
	}
	return s.opErrorOf(op, err)
}

// Write implements syscall.RawConn.
func (r rawStream) Write(f func(fd uintptr) (done bool)) error {
	s := r.s
	if err := s.duplex.BeginWrite(); err != nil {
		return s.opError("raw-write", err)
	}
	defer s.duplex.EndWrite()
	for {
		called, err := (*core.Outlet)(s.c).WriteRaw(f, (*socketLine)(s).sender())
		if !called && err == nil {
			err = s.duplex.AwaitRoom()
		}
		if err != nil {
			return s.opError("raw-write", err)
		}
		if called {
			return nil
		}
	}
}
