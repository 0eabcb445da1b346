//go:build unix

package reactor

import (
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A rawSockaddr is an address in the kernel's form.
type rawSockaddr struct {
	buf unix.RawSockaddrAny
	len uint32
}

// set fills in an address. It decides the family, which must be the socket's:
// also an IPv4 address mapped into IPv6 is one for an IPv4 socket.
func (sa *rawSockaddr) set(addr net.Addr) error {
	switch a := addr.(type) {
	case *net.TCPAddr:
		if ip := a.IP.To4(); ip != nil {
			in := (*unix.RawSockaddrInet4)(unsafe.Pointer(&sa.buf))
			*in = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: bigEndian(a.Port), Addr: [4]byte(ip)}
			sa.len = unix.SizeofSockaddrInet4
			return nil
		}
		ip := a.IP.To16()
		if ip == nil {
			return fmt.Errorf("reactor: connect: %q is not an IP address: %w", a.IP, syscall.EINVAL)
		}
		in := (*unix.RawSockaddrInet6)(unsafe.Pointer(&sa.buf))
		*in = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: bigEndian(a.Port), Addr: [16]byte(ip)}
		if a.Zone != "" {
			ifi, err := net.InterfaceByName(a.Zone)
			if err != nil {
				return fmt.Errorf("reactor: connect: zone %q: %w", a.Zone, err)
			}
			in.Scope_id = uint32(ifi.Index)
		}
		sa.len = unix.SizeofSockaddrInet6
		return nil
	case *net.UnixAddr:
		un := (*unix.RawSockaddrUnix)(unsafe.Pointer(&sa.buf))
		if len(a.Name) == 0 || len(a.Name) >= len(un.Path) {
			return fmt.Errorf("reactor: connect: socket path of %d bytes; use 1 to %d: %w", len(a.Name), len(un.Path)-1, syscall.EINVAL)
		}
		un.Family = unix.AF_UNIX
		for i := range len(a.Name) {
			un.Path[i] = int8(a.Name[i])
		}
		sa.len = uint32(unsafe.Offsetof(un.Path)) + uint32(len(a.Name))
		if a.Name[0] == '@' { // abstract: a leading NUL and no terminator
			un.Path[0] = 0
		} else {
			sa.len++
		}
		return nil
	default:
		return fmt.Errorf("reactor: connect: cannot connect to a %T: %w", addr, syscall.EAFNOSUPPORT)
	}
}

// bigEndian is a port as it lies in memory for the kernel.
func bigEndian(port int) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], uint16(port))
	return binary.NativeEndian.Uint16(b[:])
}
