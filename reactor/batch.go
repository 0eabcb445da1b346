package reactor

import (
	"fmt"
	"net/netip"
	"syscall"
)

// A Batch is datagrams for one SendTo. It holds copies of them, so the memory of an added datagram
// may be reused at once. The zero value is empty and ready for an IPv4 socket. One goroutine may
// use it at a time. From Submit to the completion only the reactor may.
type Batch struct {
	// Wide says that the socket is an IPv6 one, which takes IPv4 addresses in their mapped form.
	// Set it before Add.
	Wide bool

	// NoSegments says that the kernel has no UDP_SEGMENT, which only Linux has. AddSegments then
	// adds single datagrams. A SendTo sets it if the kernel has refused segments as such.
	NoSegments bool

	// Join makes Add join a datagram to the one before it, as AddSegments would have added them, if
	// both go to the same address and their lengths allow it. They arrive as single datagrams, for
	// much less CPU time. Datagrams longer than a packet that every network carries are not joined:
	// the kernel would refuse a segment that the interface cannot send whole.
	Join bool

	// From is the address of this host from which the datagrams that are added next leave. Invalid:
	// the kernel chooses it. Only Linux uses From. A link-local address needs its zone.
	From netip.Addr

	// Failed lists the datagrams that were not sent, after the SendTo.
	Failed []Failure

	// Earlier lists errors of earlier datagrams, after the SendTo. The socket had kept them, from
	// ICMP messages, and reported them instead of sending. The datagrams were then sent.
	Earlier []syscall.Errno

	data []byte
	list []datagram
	raw  rawBatch
}

// A Failure is a datagram that was not sent: its index in the batch, and the error. Segments that
// the kernel refuses leave as single datagrams, in order. Segment is then the number of the one
// that was not sent.
type Failure struct {
	Index   int           // in the batch, from 0
	Errno   syscall.Errno // why it was not sent
	Segment int           // from 1; 0: no part of the datagram was sent
}

type datagram struct {
	to      netip.AddrPort // invalid: the peer of a connected socket
	from    netip.Addr     // invalid: the kernel chooses
	scope   uint32         // of an IPv6 zone of to
	device  uint32         // of an IPv6 zone of from
	end     int            // its end in data
	segment int            // above 0: it is several datagrams of this length
	full    bool           // no further datagram may join it
}

// The longest payload of an IP packet behind its header and UDP's.
const (
	maxPayload4 = 65535 - 20 - 8
	maxPayload6 = 65535 - 8
)

// maxSegments is the number of datagrams into which kernels before Linux 6.9 split one send.
const maxSegments = 64

// maxJoin is the longest payload that fits the smallest packet that every IPv6 network carries.
const maxJoin = 1280 - 40 - 8

// Add adds one datagram. An invalid to is the peer of a connected socket. Errors: EMSGSIZE if the
// datagram fits no packet, EAFNOSUPPORT if the socket cannot send to that address or From is of
// another family, ENODEV for an unknown zone. With an error nothing is added.
func (b *Batch) Add(p []byte, to netip.AddrPort) error {
	if b.Join && b.join(p, to) {
		return nil
	}
	return b.add(p, to, 0)
}

// join adds a datagram to the last one, if both can be segments of one send.
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
	if d.full || d.to != to || d.from != b.From || size > maxJoin || len(p) > size || all+len(p) > maxPayload4 || all >= maxSegments*size {
		return false
	}
	d.segment, d.full = size, len(p) < size // only the last may be shorter
	b.data = append(b.data, p...)
	d.end = len(b.data)
	return true
}

// AddSegments splits p into datagrams of length segment and adds them. The last one may be shorter.
// With UDP_SEGMENT they cost as much as one datagram. Errors: those of Add, and EINVAL if segment
// is not positive.
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
		if err := b.add(p[:n], to, size); err != nil { // if it fails, then for the first one: the reasons are the same for all
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
	d := datagram{to: to, from: b.From, end: len(b.data) + len(p), segment: segment, full: segment > 0}
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
	if d.from.IsValid() {
		if d.from.Unmap().Is4() != (!b.Wide || to.IsValid() && to.Addr().Unmap().Is4()) {
			return syscall.EAFNOSUPPORT
		}
		if zone := d.from.Zone(); zone != "" {
			if d.device = zones.index(zone); d.device == 0 {
				return fmt.Errorf("reactor: zone %q: %w", zone, syscall.ENODEV)
			}
		}
	}
	b.data = append(b.data, p...)
	b.list = append(b.list, d)
	return nil
}

// Len returns the number of datagrams. The segments of one send count as one.
func (b *Batch) Len() int { return len(b.list) }

// Size returns the number of bytes.
func (b *Batch) Size() int { return len(b.data) }

// Cap returns the number of bytes of memory that the batch keeps for data.
func (b *Batch) Cap() int { return cap(b.data) }

// To returns the destination of a datagram.
func (b *Batch) To(index int) netip.AddrPort { return b.list[index].to }

// Payload returns the bytes of a datagram.
func (b *Batch) Payload(index int) []byte {
	start := 0
	if index > 0 {
		start = b.list[index-1].end
	}
	return b.data[start:b.list[index].end]
}

// Segment returns the length of the segments of a datagram, or 0 if it is a single one.
func (b *Batch) Segment(index int) int { return b.list[index].segment }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.data, b.list, b.Failed, b.Earlier = b.data[:0], b.list[:0], b.Failed[:0], b.Earlier[:0]
	b.From = netip.Addr{}
	b.raw.reset()
}

func (b *Batch) fail(index int, errno syscall.Errno) {
	b.Failed = append(b.Failed, Failure{Index: index, Errno: errno})
}
