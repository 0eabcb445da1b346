//go:build unix && (!linux || kqueue)

package reactor

import (
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These are the calls that every system has, as package unix makes them: ordinary system calls,
// since darwin and openbsd make them through their libraries. Each datagram is one call, and a
// received address is a few bytes of garbage.

func sysRead(fd int, p []byte) (int, syscall.Errno) {
	n, err := unix.Read(fd, p)
	return max(0, n), errnoOf(err) // n is -1 when the call failed
}

func sysRecv(fd int, p []byte) (int, syscall.Errno) { return sysRead(fd, p) }

func sysSend(fd int, p []byte) (int, syscall.Errno) {
	n, err := unix.SendmsgN(fd, p, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return n, errnoOf(err)
}

// sysAccept first checks whether a client waits. A listener that is being passed to another process
// is blocking for a moment (os.File.Fd). An accept that began then could block its worker for ever.
func sysAccept(fd int) (int, netip.AddrPort, syscall.Errno) {
	if !pollNonblock(fd, unix.POLLIN) {
		return -1, netip.AddrPort{}, unix.EAGAIN
	}
	conn, errno := acceptNow(fd)
	return conn, netip.AddrPort{}, errno
}

func closeNow(fd int) { closeFD(fd) }

// backlogged returns 1: there may be a connection.
func backlogged(int) int { return 1 }

// sysRecvFrom also returns the sender, if from is not nil.
func sysRecvFrom(fd int, p []byte, from *Sockaddr) (int, syscall.Errno) {
	n, _, _, sa, err := unix.RecvmsgBuffers(fd, [][]byte{p}, nil, unix.MSG_DONTWAIT)
	if err == nil && from != nil {
		from.put(sa)
	}
	return max(0, n), errnoOf(err)
}

func sysSendTo(fd int, p []byte, to *Sockaddr) syscall.Errno {
	var sa unix.Sockaddr
	if to != nil {
		sa = getSockaddr(unsafe.Pointer(&to.raw.buf), to.raw.len)
	}
	_, err := unix.SendmsgN(fd, p, nil, sa, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return errnoOf(err)
}

// put sets an address of package unix.
func (sa *Sockaddr) put(from unix.Sockaddr) {
	sa.raw.len = 0
	switch a := from.(type) {
	case *unix.SockaddrUnix:
		if a.Name != "" {
			_ = sa.raw.set(&net.UnixAddr{Name: a.Name, Net: "unixgram"}) // the kernel's name fits
		}
	case nil:
	default:
		sa.raw.len = putSockaddr(unsafe.Slice((*byte)(unsafe.Pointer(&sa.raw.buf)), int(unsafe.Sizeof(sa.raw.buf))), from)
	}
}

// sysSend2 sends first and then second.
func sysSend2(fd int, first, second []byte) (int, syscall.Errno) {
	n, err := unix.SendmsgBuffers(fd, [][]byte{first, second}, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return n, errnoOf(err)
}

// sysRecvmmsg may return an error besides the messages that arrived before it, since the socket
// does not report the error again.
func sysRecvmmsg(fd int, msgs []mmsghdr) (n int, errno syscall.Errno) {
	for n < len(msgs) {
		h := &msgs[n].hdr
		payload := unsafe.Slice(h.Iov.Base, int(h.Iov.Len))
		control := unsafe.Slice(h.Control, int(h.Controllen))
		got, controlled, flags, from, err := unix.RecvmsgBuffers(fd, [][]byte{payload}, control, unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && n > 0:
			return n, 0
		case err != nil:
			return n, errnoOf(err)
		}
		msgs[n].n = uint32(got)
		h.Flags = int32(flags)
		h.SetControllen(controlled)
		h.Namelen = putSockaddr(unsafe.Slice(h.Name, nameRoom), from)
		n++
	}
	return n, 0
}

// sysSendmmsg returns only an error of the first message. A later message will fail again in the
// next call.
func sysSendmmsg(fd int, msgs []mmsghdr) (n int, errno syscall.Errno) {
	for n < len(msgs) {
		h := &msgs[n].hdr
		payload := unsafe.Slice(h.Iov.Base, int(h.Iov.Len))
		control := unsafe.Slice(h.Control, int(h.Controllen))
		var to unix.Sockaddr
		if h.Name != nil {
			to = getSockaddr(unsafe.Pointer(h.Name), h.Namelen)
		}
		_, err := unix.SendmsgN(fd, payload, control, to, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil && n > 0:
			return n, 0
		case err != nil:
			return 0, errnoOf(err)
		}
		n++
	}
	return n, 0
}

func sysConnect(fd int, sa *rawSockaddr) syscall.Errno {
	return errnoOf(unix.Connect(fd, getSockaddr(unsafe.Pointer(&sa.buf), sa.len)))
}

func writeOne(fd int) syscall.Errno {
	one := [8]byte{1}
	_, err := unix.Write(fd, one[:])
	return errnoOf(err)
}

// pollNonblock reports whether the descriptor is ready for an event in mask, or has an error or
// hung up. If the query fails it returns true: the caller's system call will show the state.
func pollNonblock(fd int, mask int16) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: mask}}
	for {
		n, err := unix.Poll(p[:], 0)
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// isUnix reports whether the descriptor is a Unix socket, or returns the error of the call.
func isUnix(fd int) (bool, syscall.Errno) {
	sa, err := unix.Getsockname(fd)
	_, is := sa.(*unix.SockaddrUnix)
	return is, errnoOf(err)
}

// getSockaddr returns an address in the form of package unix.
func getSockaddr(at unsafe.Pointer, size uint32) unix.Sockaddr {
	switch familyOf(unsafe.Slice((*byte)(at), size)) {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(at)
		return &unix.SockaddrInet4{Port: int(bigEndian(int(in.Port))), Addr: in.Addr}
	case unix.AF_INET6:
		in := (*unix.RawSockaddrInet6)(at)
		return &unix.SockaddrInet6{Port: int(bigEndian(int(in.Port))), Addr: in.Addr, ZoneId: in.Scope_id}
	}
	un := (*unix.RawSockaddrUnix)(at)
	name := unsafe.Slice((*byte)(unsafe.Pointer(&un.Path)), int(size)-int(unsafe.Offsetof(un.Path)))
	if name[0] != 0 { // not abstract: a NUL ends it
		name = name[:len(name)-1]
	}
	return &unix.SockaddrUnix{Name: string(name)}
}

// putSockaddr writes an IP address in the kernel's form, and returns its length.
func putSockaddr(p []byte, sa unix.Sockaddr) uint32 {
	at := unsafe.Pointer(unsafe.SliceData(p))
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		*(*unix.RawSockaddrInet4)(at) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: bigEndian(a.Port), Addr: a.Addr}
		return unix.SizeofSockaddrInet4
	case *unix.SockaddrInet6:
		*(*unix.RawSockaddrInet6)(at) = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: bigEndian(a.Port), Addr: a.Addr, Scope_id: a.ZoneId}
		return unix.SizeofSockaddrInet6
	}
	return 0
}
