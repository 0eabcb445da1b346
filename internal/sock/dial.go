package sock

import (
	"net"
	"syscall"
)

// A Control is called with a new socket, as net.Dialer.Control is.
type Control = func(network, address string, raw syscall.RawConn) error

// ToDial makes the socket for an attempt to connect to addr: it calls control, and then binds the
// socket to local. Either may be nil. If control panics, the socket is closed.
func ToDial(addr, local net.Addr, control Control) (int, error) {
	fd, err := forDial(addr)
	if err != nil {
		return -1, err
	}
	made := false
	defer func() {
		if !made {
			Close(fd)
		}
	}()
	if control != nil {
		if err := control(networkOf(addr), addr.String(), Raw(fd)); err != nil {
			return -1, err
		}
	}
	if local != nil {
		if err := Bind(fd, addr, local); err != nil {
			return -1, err
		}
	}
	made = true
	return fd, nil
}

// HasPort reports whether a local address, which may be nil, has a port.
func HasPort(local net.Addr) bool {
	a, ok := local.(*net.TCPAddr)
	return ok && a.Port != 0
}

// ToItself reports whether a socket that was to connect to addr has connected to itself. If nobody
// listens at a local port, the system may choose that port for the socket, and the two ends meet as
// in a simultaneous open. Package net makes the same check.
func ToItself(fd int, addr net.Addr) bool {
	to, ok := addr.(*net.TCPAddr)
	if !ok {
		return false
	}
	from, ok := LocalAddr(fd).(*net.TCPAddr)
	return ok && from.Port == to.Port && from.IP.Equal(to.IP)
}

// networkOf is the network as net.Dialer gives it to Control.
func networkOf(addr net.Addr) string {
	a, ok := addr.(*net.TCPAddr)
	switch {
	case !ok:
		return addr.Network()
	case a.IP.To4() != nil:
		return "tcp4"
	default:
		return "tcp6"
	}
}
