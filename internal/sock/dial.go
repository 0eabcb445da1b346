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
