//go:build unix || windows

package reactor

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// These numbers are equal on all systems.
const (
	sizeofInet4 = 16
	sizeofInet6 = 28
)

// A rawSockaddr is an address in the kernel's form.
type rawSockaddr struct {
	buf syscall.RawSockaddrAny
	len uint32
}

// set fills in an address. It determines the family, which must be the socket's: an IPv4 address
// mapped into IPv6 is also for an IPv4 socket.
func (sa *rawSockaddr) set(addr net.Addr) error {
	switch a := addr.(type) {
	case *net.TCPAddr:
		if ip := a.IP.To4(); ip != nil {
			in := (*syscall.RawSockaddrInet4)(unsafe.Pointer(&sa.buf))
			*in = syscall.RawSockaddrInet4{Family: syscall.AF_INET, Port: bigEndian(a.Port), Addr: [4]byte(ip)}
			sa.len = sizeofInet4
			return nil
		}
		ip := a.IP.To16()
		if ip == nil {
			return fmt.Errorf("reactor: connect: %q is not an IP address: %w", a.IP, syscall.EINVAL)
		}
		in := (*syscall.RawSockaddrInet6)(unsafe.Pointer(&sa.buf))
		*in = syscall.RawSockaddrInet6{Family: syscall.AF_INET6, Port: bigEndian(a.Port), Addr: [16]byte(ip)}
		if a.Zone != "" {
			zone, err := zoneOf(a.Zone)
			if err != nil {
				return fmt.Errorf("reactor: connect: zone %q: %w", a.Zone, err)
			}
			in.Scope_id = zone
		}
		sa.len = sizeofInet6
		return nil
	case *net.UnixAddr:
		if room := unixRoom(a.Name); len(a.Name) == 0 || len(a.Name) > room {
			return fmt.Errorf("reactor: connect: socket path of %d bytes; use 1 to %d: %w", len(a.Name), room, syscall.EINVAL)
		}
		sa.setUnix(a.Name)
		return nil
	default:
		return fmt.Errorf("reactor: connect: cannot connect to a %T: %w", addr, syscall.EAFNOSUPPORT)
	}
}

// zoneOf is the number of a zone, which is the name of an interface or its number.
func zoneOf(name string) (uint32, error) {
	ifi, err := net.InterfaceByName(name)
	if err == nil {
		return uint32(ifi.Index), nil
	}
	if n, e := strconv.ParseUint(name, 10, 32); e == nil {
		return uint32(n), nil
	}
	return 0, err
}

// isAbstract reports whether the name of a Unix socket is no path.
func isAbstract(name string) bool { return runtime.GOOS == "linux" && name != "" && name[0] == '@' }

// unixRoom is the longest length of a name like that. A NUL ends a path.
func unixRoom(name string) int {
	room := len(syscall.RawSockaddrUnix{}.Path)
	if isAbstract(name) {
		return room
	}
	return room - 1
}

// setUnix fills in a name that fits.
func (sa *rawSockaddr) setUnix(name string) {
	un := (*syscall.RawSockaddrUnix)(unsafe.Pointer(&sa.buf))
	un.Family = syscall.AF_UNIX
	for i := range len(name) {
		un.Path[i] = int8(name[i])
	}
	sa.len = uint32(unsafe.Offsetof(un.Path)) + uint32(len(name))
	if isAbstract(name) { // a leading NUL and no terminator
		un.Path[0] = 0
	} else {
		un.Path[len(name)] = 0
		sa.len++
	}
}

// bigEndian returns a port in the byte order of the kernel's structures.
func bigEndian(port int) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], uint16(port))
	return binary.NativeEndian.Uint16(b[:])
}

// ParseSockaddr reads a socket address as the kernel writes it; the zero AddrPort
// stands for other families than IPv4 and IPv6.
func ParseSockaddr(p []byte) netip.AddrPort {
	if len(p) < 2 {
		return netip.AddrPort{}
	}
	switch family := familyOf(p); {
	case family == syscall.AF_INET && len(p) >= sizeofInet4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[4:8])), binary.BigEndian.Uint16(p[2:]))
	case family == syscall.AF_INET6 && len(p) >= sizeofInet6:
		ip := netip.AddrFrom16([16]byte(p[8:24])).Unmap()
		if scope := binary.NativeEndian.Uint32(p[24:]); scope != 0 && ip.Is6() {
			ip = ip.WithZone(zones.name(scope))
		}
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(p[2:]))
	}
	return netip.AddrPort{}
}

// setName fills in the destination of a datagram, and returns the address's length.
func (d *datagram) setName(sa *syscall.RawSockaddrInet6, wide bool) uint32 {
	ip, port := d.to.Addr(), bigEndian(int(d.to.Port()))
	if wide {
		*sa = syscall.RawSockaddrInet6{Family: syscall.AF_INET6, Port: port, Addr: ip.As16(), Scope_id: d.scope}
		return sizeofInet6
	}
	in := (*syscall.RawSockaddrInet4)(unsafe.Pointer(sa))
	*in = syscall.RawSockaddrInet4{Family: syscall.AF_INET, Port: port, Addr: ip.Unmap().As4()}
	return sizeofInet4
}
