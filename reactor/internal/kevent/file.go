//go:build kqueue

package kevent

import "golang.org/x/sys/unix"

const (
	hungUp   = unix.POLLHUP
	peerDone = unix.POLLRDHUP | unix.POLLHUP // no more data will arrive
)

// look calls poll(2) for all events. It also returns the kind of socket, 0 for no socket.
func (f *file) look() (is int16, kind int) {
	p := [1]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN | unix.POLLOUT | unix.POLLPRI | unix.POLLRDHUP}}
	for {
		if _, err := unix.Poll(p[:], 0); err != unix.EINTR {
			break
		}
	}
	kind, _ = unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if !f.connected && kind != 0 {
		_, err := unix.Getpeername(f.fd)
		f.connected = err == nil
	}
	if p[0].Revents&peerDone == unix.POLLHUP && kind == unix.SOCK_STREAM {
		return 0, kind // neither side has ended it: it was never connected, which Linux reports as a hang-up
	}
	return p[0].Revents, kind
}

func (f *file) listening() bool {
	v, _ := unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return v != 0
}

// failure returns the error of a socket that has one.
func (f *file) failure() uint32 {
	if f.connected {
		return uint32(unix.ECONNRESET)
	}
	return uint32(unix.ECONNREFUSED)
}

func (f *file) readable(ev *Event) bool {
	is, kind := f.look()
	if kind != 0 && f.listening() {
		ev.Data = f.backlog()
		return is&unix.POLLIN != 0
	}
	n, _ := unix.IoctlGetInt(f.fd, unix.TIOCINQ)
	ev.Data = int64(n)
	if is&unix.POLLPRI != 0 {
		ev.Data++ // for the bytes behind the mark
	}
	if kind != unix.SOCK_DGRAM && is&peerDone != 0 {
		ev.Flags |= EV_EOF
		if is&unix.POLLERR != 0 {
			ev.Fflags = f.failure()
		}
		return true
	}
	return is&(unix.POLLIN|unix.POLLPRI|unix.POLLERR) != 0
}

func (f *file) backlog() int64 {
	info, err := unix.GetsockoptTCPInfo(f.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 1
	}
	return int64(max(1, info.Unacked)) // of a listener: the length of its queue
}

func (f *file) writable(ev *Event) bool {
	is, kind := f.look()
	if kind != 0 && f.listening() {
		return false
	}
	if size, err := unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err == nil {
		queued, _ := unix.IoctlGetInt(f.fd, unix.TIOCOUTQ)
		ev.Data = int64(max(0, size-queued))
	}
	if kind != unix.SOCK_DGRAM && is&(hungUp|unix.POLLERR) != 0 {
		ev.Flags |= EV_EOF
		if is&unix.POLLERR != 0 && kind == unix.SOCK_STREAM {
			ev.Fflags = f.failure()
		}
		return true
	}
	return is&(unix.POLLOUT|unix.POLLERR) != 0
}
