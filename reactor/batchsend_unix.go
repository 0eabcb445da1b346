//go:build unix

package reactor

import (
	"slices"
	"syscall"
	"unsafe"
)

// mostTries is how often a datagram is tried again after an error that may be an earlier
// datagram's. Each attempt takes one such error from the socket. More can arrive meanwhile.
const mostTries = 2

// ownErrors are errors that a socket never keeps for a later call: they concern the datagram that
// is being sent. Any other error may be of an ICMP message about an earlier datagram.
var ownErrors = []syscall.Errno{
	syscall.EINVAL, syscall.EIO, syscall.EPERM, syscall.ENOBUFS, syscall.ENOMEM, syscall.EFAULT, syscall.EBADF,
	syscall.ENOTSOCK, syscall.EPIPE, syscall.EISCONN, syscall.EDESTADDRREQ, syscall.EAFNOSUPPORT,
	syscall.EADDRNOTAVAIL, syscall.ECANCELED,
}

// transmit sends as many datagrams as the kernel takes at once, in order. It reports whether all
// have been processed. A datagram that the kernel refuses is tried again if the error may be an
// earlier one's. Refused segments are sent as single datagrams. A datagram that is refused then has
// failed, and the others are still sent.
func (b *Batch) transmit(k kernel, fd int) bool {
	b.prepare()
	return b.advance(k, fd, len(b.list))
}

// advance is transmit for the datagrams before index end.
func (b *Batch) advance(k kernel, fd, end int) bool {
	w := &b.raw
	for w.next < end {
		last := end
		if w.segment > 0 {
			last = w.next + 1
		}
		switch n, errno := k.sendmmsg(fd, w.msgs[w.next:last]); errno {
		case 0:
			b.took(n)
		case syscall.EAGAIN:
			return false
		default:
			b.refused(errno)
		}
	}
	return true
}

// took notes that the kernel has taken datagrams, or one segment.
func (b *Batch) took(n int) {
	w := &b.raw
	b.Earlier, w.tried = append(b.Earlier, w.tried...), w.tried[:0]
	if w.segment == 0 {
		w.next += n
		return
	}
	if w.refusal == syscall.EINVAL || w.refusal == syscall.EIO {
		b.NoSegments = true
	}
	b.nextSegment()
}

// refused handles an error of the next datagram or segment: it is tried again, split or skipped.
func (b *Batch) refused(errno syscall.Errno) {
	w := &b.raw
	if len(w.tried) < mostTries && !slices.Contains(ownErrors, errno) {
		w.tried = append(w.tried, errno)
		return
	}
	w.tried = w.tried[:0]
	if w.segment == 0 && b.list[w.next].segment > 0 {
		w.refusal = errno
		b.nextSegment()
		return
	}
	b.skip(errno)
}

// skip fails the next datagram or segment.
func (b *Batch) skip(errno syscall.Errno) {
	w := &b.raw
	b.Failed = append(b.Failed, Failure{Index: w.next, Errno: errno, Segment: w.segment})
	if w.segment > 0 {
		b.nextSegment()
	} else {
		w.next++
	}
}

// skipAll fails all datagrams before index end that have not been processed.
func (b *Batch) skipAll(errno syscall.Errno, end int) {
	b.prepare()
	for b.raw.next < end {
		b.skip(errno)
	}
	b.raw.tried = b.raw.tried[:0]
}

// nextSegment makes the next segment of the next datagram a datagram of its own. After the last
// segment the next datagram follows.
func (b *Batch) nextSegment() {
	w := &b.raw
	d, p := &b.list[w.next], b.Payload(w.next)
	rest := p[min(len(p), w.segment*d.segment):]
	if len(rest) == 0 {
		w.next, w.segment = w.next+1, 0
		return
	}
	part, h := &w.parts[w.next], &w.msgs[w.next].hdr
	part.iov.Base = unsafe.SliceData(rest)
	part.iov.SetLen(min(len(rest), d.segment))
	h.Control = nil
	h.SetControllen(0)
	if d.from.IsValid() {
		part.setSource(h, d, b.Wide)
	}
	w.segment++
}

// retry sends the datagrams that have failed once more, after the kernel has processed each of the
// batch by itself. It does not wait for room.
func (b *Batch) retry(k kernel, fd int) {
	failed := slices.Clone(b.Failed)
	slices.SortFunc(failed, func(x, y Failure) int { return x.Index - y.Index })
	b.Failed = b.Failed[:0]
	for _, f := range failed {
		if f.Errno == syscall.ECANCELED {
			b.Failed = append(b.Failed, f)
			continue
		}
		b.raw.next, b.raw.segment = f.Index, 0
		if b.refused(f.Errno); !b.advance(k, fd, f.Index+1) {
			b.skipAll(syscall.ENOBUFS, f.Index+1)
		}
	}
	b.raw.next = len(b.list)
}

// needsOrder reports whether a datagram that is refused at first must not be overtaken by later
// ones: it is tried again.
func (b *Batch) needsOrder() bool {
	return len(b.list) > 1 && slices.ContainsFunc(b.list, func(d datagram) bool { return d.segment > 0 || !d.to.IsValid() })
}
