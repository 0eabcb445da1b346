//go:build unix || windows

package reactor

import (
	"net/netip"
	"runtime"
	"syscall"
	"unsafe"
)

// A Sockaddr is the address of a datagram socket in the kernel's form. The zero value is no
// address.
type Sockaddr struct{ raw rawSockaddr }

// IsValid reports whether there is an address.
func (sa *Sockaddr) IsValid() bool { return sa.raw.len > 0 }

// AddrPort returns the address of an Internet socket, and the zero value for another one. IPv4
// addresses that are mapped into IPv6 are returned as IPv4.
func (sa *Sockaddr) AddrPort() netip.AddrPort { return ParseSockaddr(sa.bytes()) }

// UnixName returns the name of a Unix socket as package net writes it: "@" begins an abstract one.
// It is empty for a socket without a name, and for an Internet socket.
func (sa *Sockaddr) UnixName() string {
	p := sa.bytes()
	const path = unsafe.Offsetof(syscall.RawSockaddrUnix{}.Path)
	if len(p) <= int(path) || familyOf(p) != syscall.AF_UNIX {
		return ""
	}
	p = p[path:]
	if p[0] == 0 {
		if runtime.GOOS != "linux" {
			return ""
		}
		return "@" + string(p[1:])
	}
	for i, c := range p {
		if c == 0 {
			p = p[:i]
			break
		}
	}
	return string(p)
}

// HasUnixName reports whether UnixName equals name, which is not empty, without an allocation.
func (sa *Sockaddr) HasUnixName(name string) bool {
	p := sa.bytes()
	const path = int(unsafe.Offsetof(syscall.RawSockaddrUnix{}.Path))
	if len(p) <= path || familyOf(p) != syscall.AF_UNIX {
		return false
	}
	p = p[path:]
	if p[0] == 0 {
		return runtime.GOOS == "linux" && name[0] == '@' && string(p[1:]) == name[1:]
	}
	return len(p) >= len(name) && string(p[:len(name)]) == name && (len(p) == len(name) || p[len(name)] == 0)
}

// SetAddrPort sets the address for a socket that is an IPv6 one (wide) or an IPv4 one. It returns
// EAFNOSUPPORT for an IPv6 address on an IPv4 socket, and ENODEV for an unknown zone.
func (sa *Sockaddr) SetAddrPort(to netip.AddrPort, wide bool) syscall.Errno {
	d := datagram{to: to}
	if !wide && !to.Addr().Unmap().Is4() {
		return syscall.EAFNOSUPPORT
	}
	if zone := to.Addr().Zone(); zone != "" {
		if d.scope = zones.index(zone); d.scope == 0 {
			return syscall.ENODEV
		}
	}
	sa.raw.len = d.setName((*syscall.RawSockaddrInet6)(unsafe.Pointer(&sa.raw.buf)), wide)
	return 0
}

// SetUnix sets the name of a Unix socket, which may be abstract on Linux: "@" begins it. It returns
// EINVAL for a name that is empty or too long.
func (sa *Sockaddr) SetUnix(name string) syscall.Errno {
	if len(name) == 0 || len(name) > unixRoom(name) {
		return syscall.EINVAL
	}
	sa.raw.setUnix(name)
	return 0
}

// bytes returns the address in the form that ParseSockaddr reads.
func (sa *Sockaddr) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&sa.raw.buf)), min(uintptr(sa.raw.len), unsafe.Sizeof(sa.raw.buf)))
}

// MaxMessages is the number of datagrams that one call receives or sends at most.
const MaxMessages = 32
