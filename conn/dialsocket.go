package conn

import "net"

// dialSocket makes the socket for an attempt to connect to addr.
func dialSocket(addr net.Addr, cfg *DialConfig) (int, error) {
	fd, err := newSocket(addr)
	if err != nil {
		return -1, err
	}
	made := false
	defer func() { // Control may panic
		if !made {
			closeFD(fd)
		}
	}()
	if cfg.Control != nil {
		if err := cfg.Control(networkOf(addr), addr.String(), rawSocket(fd)); err != nil {
			return -1, err
		}
	}
	if cfg.LocalAddr != nil {
		if err := bindFor(fd, addr, cfg.LocalAddr); err != nil {
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

// binds reports whether a socket for remote can be bound to local.
func binds(local *net.TCPAddr, remote net.Addr) (to *net.TCPAddr, ok bool) {
	to, ok = remote.(*net.TCPAddr)
	return to, ok && (anyAddress(local.IP) || (local.IP.To4() == nil) == (to.IP.To4() == nil))
}

// anyAddress reports whether an IP address stands for those of the machine, of both families.
func anyAddress(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }

func mismatched(local net.Addr) error {
	return &net.AddrError{Err: "mismatched local address; use one of the network and family of the remote one", Addr: local.String()}
}
