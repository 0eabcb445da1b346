package reactor

import (
	"fmt"
	"net/netip"
	"syscall"
)

// A Batch is datagrams for one SendTo. It holds copies of them, so that what was
// added may be used again at once. The zero value is empty and ready for an IPv4
// socket. One goroutine at a time; from Submit to the completion it is the reactor's.
type Batch struct {
	// Wide says that the socket is an IPv6 one, which takes IPv4 addresses in
	// their mapped form. Set it before Add.
	Wide bool

	// NoSegments says that the kernel has no UDP_SEGMENT, as none but Linux has, so that
	// AddSegments adds single datagrams.
	NoSegments bool

	// Join has Add join a datagram to the one before it, as AddSegments would have
	// added them, if both go to the same address and their lengths allow it: they
	// arrive as they would have, for much less. Those longer than a packet may be on
	// every network are left alone, since the kernel would refuse a segment that the
	// interface cannot take whole.
	Join bool

	// Failed lists the datagrams that were not sent, after the SendTo.
	Failed []Failure

	data []byte
	list []datagram
	raw  rawBatch
}

// A Failure is a datagram that was not sent, by its place in the batch, and why.
type Failure struct {
	Index int
	Errno syscall.Errno
}

type datagram struct {
	to      netip.AddrPort // invalid: the peer of a connected socket
	scope   uint32         // of an IPv6 zone
	end     int            // where it ends in data
	segment int            // above 0: it is several, of this length
	full    bool           // nothing more may join it
}

// The most that fits an IP packet behind its header and UDP's.
const (
	maxPayload4 = 65535 - 20 - 8
	maxPayload6 = 65535 - 8
)

// maxSegments is how many datagrams the kernels before Linux 6.9 make of one.
const maxSegments = 64

// maxJoin is what fits a packet of the least length that every IPv6 network takes.
const maxJoin = 1280 - 40 - 8

// Add adds one datagram. An invalid to is the peer of a connected socket. Errors:
// EMSGSIZE if it can fit no packet, EAFNOSUPPORT if the socket cannot send to that
// address, ENODEV for an unknown zone. Then nothing is added.
func (b *Batch) Add(p []byte, to netip.AddrPort) error {
	if b.Join && b.join(p, to) {
		return nil
	}
	return b.add(p, to, 0)
}

// join adds a datagram to the last one, if they can be segments of one.
func (b *Batch) join(p []byte, to netip.AddrPort) bool {
	last := len(b.list) - 1
	if last < 0 || len(p) == 0 || b.single() {
		return false
	}
	d := &b.list[last]
	size, all := d.segment, len(b.Payload(last))
	if size == 0 {
		size = all
	}
	if d.full || d.to != to || size > maxJoin || len(p) > size || all+len(p) > maxPayload4 || all >= maxSegments*size {
		return false
	}
	d.segment, d.full = size, len(p) < size // only the last may be shorter
	b.data = append(b.data, p...)
	d.end = len(b.data)
	return true
}

// AddSegments adds the datagrams that p is made of, each of that length but for the
// last, which may be shorter. Where the kernel can, they take the cost of one.
// Errors: those of Add, and EINVAL if segment is not positive.
func (b *Batch) AddSegments(p []byte, segment int, to netip.AddrPort) error {
	if segment <= 0 {
		return syscall.EINVAL
	}
	if segment > b.room(to) {
		return syscall.EMSGSIZE
	}
	most := segment
	if !b.single() {
		most = segment * max(1, min(maxSegments, maxPayload4/segment))
	}
	for len(p) > 0 {
		n := min(len(p), most)
		size := segment
		if n <= segment {
			size = 0
		}
		if err := b.add(p[:n], to, size); err != nil { // the first or none: all have the same reasons
			return err
		}
		p = p[n:]
	}
	return nil
}

func (b *Batch) single() bool { return b.NoSegments || !haveSegments }

func (b *Batch) room(to netip.AddrPort) int {
	if !b.Wide || to.IsValid() && to.Addr().Unmap().Is4() {
		return maxPayload4
	}
	return maxPayload6
}

func (b *Batch) add(p []byte, to netip.AddrPort, segment int) error {
	if len(p) > b.room(to) {
		return syscall.EMSGSIZE
	}
	d := datagram{to: to, end: len(b.data) + len(p), segment: segment, full: segment > 0}
	if to.IsValid() {
		if !b.Wide && !to.Addr().Unmap().Is4() {
			return syscall.EAFNOSUPPORT
		}
		if zone := to.Addr().Zone(); zone != "" {
			if d.scope = zones.index(zone); d.scope == 0 {
				return fmt.Errorf("reactor: zone %q: %w", zone, syscall.ENODEV)
			}
		}
	}
	b.data = append(b.data, p...)
	b.list = append(b.list, d)
	return nil
}

// Len is the number of datagrams, segments of one counting as one.
func (b *Batch) Len() int { return len(b.list) }

// Size is the number of bytes.
func (b *Batch) Size() int { return len(b.data) }

// Cap is how many bytes of memory the batch keeps for data.
func (b *Batch) Cap() int { return cap(b.data) }

// To is where a datagram is to go.
func (b *Batch) To(index int) netip.AddrPort { return b.list[index].to }

// Payload is a datagram's bytes.
func (b *Batch) Payload(index int) []byte {
	start := 0
	if index > 0 {
		start = b.list[index-1].end
	}
	return b.data[start:b.list[index].end]
}

// Segment is the length of the segments that a datagram consists of, 0 if it is a
// single one.
func (b *Batch) Segment(index int) int { return b.list[index].segment }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.data, b.list, b.Failed = b.data[:0], b.list[:0], b.Failed[:0]
	b.raw.reset()
}

func (b *Batch) fail(index int, errno syscall.Errno) {
	b.Failed = append(b.Failed, Failure{index, errno})
}
