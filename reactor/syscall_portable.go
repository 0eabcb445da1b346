//go:build unix && (!linux || kqueue)

package reactor

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These are the calls that every system has, as package unix makes them: ordinary
// system calls, since darwin and openbsd make them through their libraries. Datagrams go
// one at a time, and an address that is received is a few bytes of garbage.

func sysRead(fd int, p []byte) (int, syscall.Errno) {
	n, err := unix.Read(fd, p)
	return max(0, n), errnoOf(err) // it says -1 when it failed
}

func sysRecv(fd int, p []byte) (int, syscall.Errno) { return sysRead(fd, p) }

func sysSend(fd int, p []byte) (int, syscall.Errno) {
	n, err := unix.SendmsgN(fd, p, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return n, errnoOf(err)
}

// sysAccept looks first whether somebody waits: a listener that is being given to another
// process is blocking for a moment (os.File.Fd), and an accept that began then would hold
// up its worker, with those whose ends it waits for, for ever.
func sysAccept(fd int) (int, netip.AddrPort, syscall.Errno) {
	if !pollNonblock(fd, unix.POLLIN) {
		return -1, netip.AddrPort{}, unix.EAGAIN
	}
	conn, errno := acceptNow(fd)
	return conn, netip.AddrPort{}, errno
}

func closeNow(fd int) { closeFD(fd) }

// backlogged says that somebody may wait.
func backlogged(int) int { return 1 }

// sysSend2 sends first and then second.
func sysSend2(fd int, first, second []byte) (int, syscall.Errno) {
	n, err := unix.SendmsgBuffers(fd, [][]byte{first, second}, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return n, errnoOf(err)
}

// sysRecvmmsg returns an error beside the messages that came before it, since the
// socket does not tell of it again.
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

// sysSendmmsg returns an error only of the first: one of a later is met again.
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

// pollNonblock reports whether the descriptor is ready for what mask says, or has
// an error or hung up. If it cannot be asked it counts as ready: the caller's call
// will tell.
func pollNonblock(fd int, mask int16) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: mask}}
	for {
		n, err := unix.Poll(p[:], 0)
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// isUnix reports whether it is a socket of that family, and what kept it from finding out.
func isUnix(fd int) (bool, syscall.Errno) {
	sa, err := unix.Getsockname(fd)
	_, is := sa.(*unix.SockaddrUnix)
	return is, errnoOf(err)
}

// getSockaddr is an address as package unix has it.
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

// putSockaddr writes an IP address as the kernel would have, and returns its length.
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
