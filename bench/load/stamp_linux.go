package load

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A stampClock knows when bytes arrived. The kernel stamps them when the peer's send delivers them
// (SO_TIMESTAMPNS), so the delay of the load's own read does not count.
type stampClock struct {
	arrived time.Time // of the last read; without a stamp the time of the read, which is later
	header  unix.Msghdr
	vector  unix.Iovec
	control [64]byte
}

// A stampedWire is a TCP connection whose reads tell that clock.
type stampedWire struct {
	tcpWire
	clock *stampClock
}

// wire asks the kernel for the time at which data arrives.
func (k *stampClock) wire(fd int) (wire, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	return stampedWire{tcpWire(fd), k}, nil
}

func (w stampedWire) read(p []byte, ended bool) (int, bool, error) {
	k := w.clock
	k.vector.Base = unsafe.SliceData(p)
	k.vector.SetLen(len(p))
	k.header = unix.Msghdr{Iov: &k.vector, Control: &k.control[0]}
	k.header.SetIovlen(1)
	k.header.SetControllen(len(k.control))
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(w.tcpWire), uintptr(unsafe.Pointer(&k.header)), 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return 0, false, nil
		case errno != 0:
			return 0, false, os.NewSyscallError("recvmsg", errno)
		case n == 0:
			return 0, false, errEnded
		}
		k.arrived = k.when(time.Now())
		return int(n), int(n) == len(p) || ended, nil
	}
}

// when is the time of the stamp: the system's clock says how long ago it was, so a step of that
// clock is no harm unless it falls in between.
func (k *stampClock) when(now time.Time) time.Time {
	h := (*unix.Cmsghdr)(unsafe.Pointer(&k.control[0]))
	if int(k.header.Controllen) < unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) || h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return now
	}
	stamp := (*unix.Timespec)(unsafe.Pointer(&k.control[unix.CmsgLen(0)]))
	return now.Add(min(0, time.Duration(stamp.Nano()-now.UnixNano())))
}
