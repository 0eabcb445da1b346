package conntest

import (
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
)

// A Hole is a bound socket whose answer to a connection attempt the test chooses. At first attempts
// are refused.
type Hole struct {
	addr netip.AddrPort
	fd   socket
}

// NewHole is a Hole at an address; of port 0, at a free one. nil: the port is taken.
func NewHole(t testing.TB, addr netip.AddrPort) *Hole {
	t.Helper()
	family, sa := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()})
	if addr.Addr().Is4() {
		family, sa = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	fd, err := openSocket(family)
	must(t, err)
	if err := syscall.Bind(fd, sa); err != nil {
		closeSocket(fd)
		if addr.Port() == 0 {
			t.Fatal(err)
		}
		return nil
	}
	name, err := syscall.Getsockname(fd)
	must(t, err)
	port := 0
	switch b := name.(type) {
	case *syscall.SockaddrInet4:
		port = b.Port
	case *syscall.SockaddrInet6:
		port = b.Port
	}
	h := &Hole{addr: netip.AddrPortFrom(addr.Addr(), uint16(port)), fd: fd}
	t.Cleanup(h.close)
	return h
}

// Addr is where it is.
func (h *Hole) Addr() *net.TCPAddr { return net.TCPAddrFromAddrPort(h.addr) }

// Port is that of Addr.
func (h *Hole) Port() int { return int(h.addr.Port()) }

// Swallow makes connection attempts wait as long as the test wants: the backlog is full.
func (h *Hole) Swallow(t testing.TB) {
	t.Helper()
	must(t, syscall.Listen(h.fd, 0))
	c, err := net.Dial("tcp", net.JoinHostPort(h.addr.Addr().String(), strconv.Itoa(h.Port())))
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
}

// Listen makes it a listener. Its queue has room for all dials of a test: when a queue is full,
// Linux answers with SYN cookies, and resets some of these connections later.
func (h *Hole) Listen(t testing.TB) net.Listener {
	t.Helper()
	must(t, syscall.Listen(h.fd, 4096))
	ln, err := h.listener()
	must(t, err)
	return ln
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
