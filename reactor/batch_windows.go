package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/faults"
)

const haveSegments = false

// A rawBatch is the progress of a batch: each datagram is a system call.
type rawBatch struct {
	next int // the first datagram not yet processed
}

func (w *rawBatch) reset() { *w = rawBatch{} }

// transmit sends as many datagrams as the kernel takes at once, in order. It reports whether all
// have been processed. A datagram that the kernel refuses for any reason but a full buffer has
// failed.
func (b *Batch) transmit(k kernel, fd int) bool {
	for w := &b.raw; w.next < len(b.list); w.next++ {
		d := &b.list[w.next]
		var name syscall.RawSockaddrInet6
		size := uint32(0)
		if d.to.IsValid() {
			size = d.setName(&name, b.Wide)
		}
		switch errno := k.sendTo(fd, b.Payload(w.next), &name, size); errno {
		case 0:
		case syscall.EAGAIN:
			return false
		default: // an error of this datagram: the others are still tried
			b.fail(w.next, errno)
		}
	}
	return true
}

// skipAll fails all datagrams before index end that have not been processed.
func (b *Batch) skipAll(errno syscall.Errno, end int) {
	for ; b.raw.next < end; b.raw.next++ {
		b.fail(b.raw.next, errno)
	}
}

func (k kernel) sendTo(fd int, p []byte, name *syscall.RawSockaddrInet6, size uint32) syscall.Errno {
	if _, errno := k.next(faults.SendTo, fd, 1); errno != 0 {
		return errno
	}
	if size == 0 {
		_, errno := wsaSend(fd, []windows.WSABuf{wsaBuf(p)})
		return errno
	}
	buf, n := wsaBuf(p), uint32(0)
	r, _, errno := syscall.SyscallN(procWSASendTo.Addr(), uintptr(fd), uintptr(unsafe.Pointer(&buf)), 1, uintptr(unsafe.Pointer(&n)), 0,
		uintptr(unsafe.Pointer(name)), uintptr(size), 0, 0)
	return winsock(r, errno)
}
