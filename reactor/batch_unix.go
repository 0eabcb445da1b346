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
	ready   bool
	next    int // the first datagram not yet processed, where they are sent in order
	msgs    []mmsghdr
	parts   []rawDatagram
	segment int             // above 0: the segments of datagram next leave singly, and this one is next, from 1
	refusal syscall.Errno   // why they do
	tried   []syscall.Errno // the errors of the attempts to send the next one
}

// A rawDatagram is the memory to which a message header points.
type rawDatagram struct {
	iov     unix.Iovec
	name    syscall.RawSockaddrInet6 // or an Inet4, which is shorter
	control [8]uint64                // room for a source address and the length of segments, aligned
	done    bool
}

func (w *rawBatch) reset() { w.ready, w.next, w.segment, w.tried = false, 0, 0, w.tried[:0] }

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
		if d.from.IsValid() {
			part.setSource(h, d, b.Wide)
		}
		if d.segment > 0 {
			part.setSegment(h, d.segment)
		}
	}
}
