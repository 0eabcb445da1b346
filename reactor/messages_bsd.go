//go:build unix && (!linux || kqueue)

package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
)

// tryRecvMessage receives the i-th message.
func (c Calls) tryRecvMessage(fd int, b *Messages, i int) syscall.Errno {
	for {
		_, errno := c.planned(faults.RecvFrom, fd, 1)
		if errno == 0 {
			n, control, flags, from, err := unix.RecvmsgBuffers(fd, b.data[i][:], b.controls[i], unix.MSG_DONTWAIT)
			if errno = errnoOf(err); errno == 0 {
				b.sizes[i], b.controls[i] = n, b.controls[i][:control]
				b.flags[i] = flags &^ unix.MSG_DONTWAIT // some kernels return the flags of the call as well
				b.names[i].put(from)
			}
		}
		if errno != unix.EINTR {
			iosync.AfterReceive()
			return errno
		}
	}
}

// trySendControl is TrySendTo with control messages.
func (c Calls) trySendControl(fd int, p, control []byte, to *Sockaddr) syscall.Errno {
	iosync.BeforeSend()
	var sa unix.Sockaddr
	if to != nil {
		sa = getSockaddr(unsafe.Pointer(&to.raw.buf), to.raw.len)
	}
	for {
		_, errno := c.planned(faults.SendTo, fd, 1)
		if errno == 0 {
			_, err := unix.SendmsgN(fd, p, control, sa, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
			errno = errnoOf(err)
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}
