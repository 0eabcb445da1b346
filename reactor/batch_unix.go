//go:build unix

package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A rawBatch is a batch in the kernel's form. It holds pointers into itself and into the batch's
// data, which are on the heap. The heap does not move.
type rawBatch struct {
	ready bool
	next  int // the first datagram not yet processed, where they are sent in order
	msgs  []mmsghdr
	parts []rawDatagram
}

// A rawDatagram is the memory to which a message header points.
type rawDatagram struct {
	iov     unix.Iovec
	name    syscall.RawSockaddrInet6 // or an Inet4, which is shorter
	control [3]uint64                // room for a cmsghdr and a number, aligned
	done    bool
}

func (w *rawBatch) reset() { w.ready, w.next = false, 0 }

// prepare writes the kernel's form, once.
func (b *Batch) prepare() {
	w := &b.raw
	if w.ready {
		return
	}
	w.ready = true
	n := len(b.list)
	if cap(w.msgs) < n {
		w.msgs, w.parts = make([]mmsghdr, n, 2*n), make([]rawDatagram, n, 2*n)
	}
	w.msgs, w.parts = w.msgs[:n], w.parts[:n]
	start := 0
	for i := range b.list {
		d, part, h := &b.list[i], &w.parts[i], &w.msgs[i].hdr
		*h = unix.Msghdr{Iov: &part.iov}
		h.SetIovlen(1)
		part.done = false
		part.iov.Base = unsafe.SliceData(b.data[start:])
		part.iov.SetLen(d.end - start)
		start = d.end
		if d.to.IsValid() {
			h.Name = (*byte)(unsafe.Pointer(&part.name))
			h.Namelen = d.setName(&part.name, b.Wide)
		}
		if d.segment > 0 {
			part.setSegment(h, d.segment)
		}
	}
}

// transmit sends as many datagrams as the kernel takes at once, in order. It reports whether all
// have been processed. A datagram that the kernel refuses for any reason but a full buffer has
// failed.
func (b *Batch) transmit(k kernel, fd int) bool {
	b.prepare()
	w := &b.raw
	for w.next < len(w.msgs) {
		switch n, errno := k.sendmmsg(fd, w.msgs[w.next:]); errno {
		case 0:
			w.next += n
		case unix.EAGAIN:
			return false
		default: // an error of the first datagram: the others are still tried
			b.fail(w.next, errno)
			w.next++
		}
	}
	return true
}
