package packet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
)

// SyscallConn is conn.Socket.SyscallConn for datagrams: Write's function, too, is given a duplicate
// of the descriptor, beside what others write.
func (s *Socket) SyscallConn() (syscall.RawConn, error) { return rawPackets{s}, nil }

// A rawPackets is the syscall.RawConn of a Socket.
type rawPackets struct{ s *Socket }

// Control implements syscall.RawConn.
func (r rawPackets) Control(f func(fd uintptr)) error {
	return r.do("raw-control", func(fd uintptr) bool { f(fd); return true })
}

// Read implements syscall.RawConn.
func (r rawPackets) Read(f func(fd uintptr) (done bool)) error { return r.do("raw-read", f) }

// Write implements syscall.RawConn.
func (r rawPackets) Write(f func(fd uintptr) (done bool)) error { return r.do("raw-write", f) }

func (r rawPackets) do(op string, f func(fd uintptr) bool) error {
	fd := -1
	err := r.s.do(func(c *Conn) (err error) {
		fd, err = sock.Duplicate(c.end.FD)
		return err
	})
	switch {
	case errors.Is(err, net.ErrClosed):
		err = net.ErrClosed
	case err == nil:
		err = sock.Lend(fd, f)
	}
	if err != nil {
		return r.s.opError(op, netip.AddrPort{}, err)
	}
	return nil
}

// ReadMsgUDP is ReadFrom, with the signature by which golang.org/x/net knows a UDP socket. No
// out-of-band data is received: with room for some it returns errors.ErrUnsupported.
func (s *Socket) ReadMsgUDP(p, oob []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	if len(oob) > 0 {
		return 0, 0, 0, nil, s.opError("read", s.peer, fmt.Errorf("out-of-band data: %w", errors.ErrUnsupported))
	}
	n, from, err := s.ReadFromAddrPort(p)
	if err != nil {
		return n, 0, 0, nil, err
	}
	return n, 0, 0, net.UDPAddrFromAddrPort(from), nil
}
