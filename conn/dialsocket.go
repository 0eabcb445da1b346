package conn

import (
	"net"

	"github.com/suiro-go/suiro/internal/sock"
)

// dialSocket makes the socket for an attempt to connect to addr.
func dialSocket(addr net.Addr, cfg *DialConfig) (int, error) {
	fd, err := sock.ForDial(addr)
	if err != nil {
		return -1, err
	}
	made := false
	defer func() { // Control may panic
		if !made {
			sock.Close(fd)
		}
	}()
	if cfg.Control != nil {
		if err := cfg.Control(networkOf(addr), addr.String(), sock.Raw(fd)); err != nil {
			return -1, err
		}
	}
	if cfg.LocalAddr != nil {
		if err := sock.Bind(fd, addr, cfg.LocalAddr); err != nil {
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
