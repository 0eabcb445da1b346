package uring

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxBufRing is the most entries that the kernel takes in a buffer ring.
const maxBufRing = 32768

// BufRing is a group of buffers from which the kernel takes one whenever a receive has data. It
// holds addresses, not memory: the buffers must stay reachable and unmoved until the kernel has
// given them back in a completion, or the group is closed; off-heap memory is best. One goroutine
// at a time, the owner, may call its methods.
type BufRing struct {
	ring    *Ring
	entries *bufEntry // first of mask+1
	mem     mapping
	mask    uint16
	tail    uint16 // published
	next    uint16 // added: ahead of tail until Advance
	group   uint16
	flags   uint16

	registered bool
}

// bufEntry is struct io_uring_buf. The ring's tail lies over the resv of entry 0: of that entry, as
// of all others, Add must leave resv alone.
type bufEntry struct {
	addr uint64
	n    uint32
	bid  uint16
	resv uint16
}

// bufReg is struct io_uring_buf_reg.
type bufReg struct {
	ringAddr uint64
	entries  uint32
	group    uint16
	flags    uint16
	resv     [3]uint64
}

var (
	_ [16]byte = [unsafe.Sizeof(bufEntry{})]byte{}
	_ [12]byte = [unsafe.Offsetof(bufEntry{}.bid)]byte{}
	_ [14]byte = [unsafe.Offsetof(bufEntry{}.resv)]byte{}
	_ [40]byte = [unsafe.Sizeof(bufReg{})]byte{}
)

// MinResetGroup is the smallest group that Reset can empty on every kernel. Kernels before 6.9 keep
// the lists of smaller groups when a ring is unregistered, and a list keeps its old head.
const MinResetGroup = 64

// NewBufRing registers an empty buffer ring as the group. entries is a power of two from 1 to
// 32768. flags is 0 or IOU_PBUF_RING_INC. The error is EINVAL where the kernel lacks buffer rings
// (before 5.19) or the flag, or for other values of entries. It is EEXIST when the group exists.
func (r *Ring) NewBufRing(group uint16, entries uint32, flags uint16) (*BufRing, error) {
	if entries == 0 || entries > maxBufRing || entries&(entries-1) != 0 || flags&IOU_PBUF_RING_MMAP != 0 {
		return nil, os.NewSyscallError("io_uring_register", unix.EINVAL)
	}
	size := uintptr(entries) * unsafe.Sizeof(bufEntry{})
	mem, err := mapMemory(-1, 0, size, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	b := &BufRing{
		ring:    r,
		entries: (*bufEntry)(mem.addr),
		mem:     mem,
		mask:    uint16(entries - 1),
		group:   group,
		flags:   flags,
	}
	if err := b.register(); err != nil {
		_ = mem.unmap() // the refusal is what matters
		return nil, err
	}
	return b, nil
}

func (b *BufRing) register() error {
	reg := &bufReg{ringAddr: addr(b.mem.addr), entries: uint32(b.mask) + 1, group: b.group, flags: b.flags}
	if err := b.ring.register(IORING_REGISTER_PBUF_RING, unsafe.Pointer(reg), 1); err != nil {
		return err
	}
	b.registered = true
	return nil
}

func (b *BufRing) unregister() error {
	if !b.registered {
		return nil
	}
	b.registered = false
	return b.ring.register(IORING_UNREGISTER_PBUF_RING, unsafe.Pointer(&bufReg{group: b.group}), 1)
}

// Reset makes the group empty, as NewBufRing does: the kernel keeps none of the buffers. No
// receive may be in flight in the group. After an error there is no group; call Reset again. The
// error is EINVAL for a group below MinResetGroup, which stays as it is.
func (b *BufRing) Reset() error {
	if b.group < MinResetGroup {
		return os.NewSyscallError("io_uring_register", unix.EINVAL)
	}
	if err := b.unregister(); err != nil {
		return err
	}
	clear(unsafe.Slice(b.entries, int(b.mask)+1)) // the tail lies there too
	b.next, b.tail = 0, 0
	return b.register()
}

// Group returns the id to receive with.
func (b *BufRing) Group() uint16 { return b.group }

// Add puts the n bytes at addr into the ring as buffer bid. Advance makes it known to the kernel.
// The ring must not hold more buffers than it has entries, which the caller counts: one more
// overwrites a buffer that the kernel has not taken yet.
func (b *BufRing) Add(addr unsafe.Pointer, n uint32, bid uint16) {
	e := b.entry(b.next)
	// Field by field: resv of entry 0 is the tail.
	e.addr = uint64(uintptr(escape(addr)))
	e.n = n
	e.bid = bid
	b.next++ // wraps at 65536, a multiple of every size
}

// entry is the slot of index i. The index is masked as 16 bits and only then widened to an offset,
// which reaches 512 KiB.
func (b *BufRing) entry(i uint16) *bufEntry {
	return (*bufEntry)(unsafe.Add(unsafe.Pointer(b.entries), uintptr(i&b.mask)*unsafe.Sizeof(bufEntry{})))
}

// Advance publishes all buffers added since the last call.
func (b *BufRing) Advance() {
	if b.next == b.tail {
		return
	}
	b.tail = b.next
	// The kernel loads the 16-bit tail with acquire, so it must be stored with release, after the
	// entries. Go has atomics of 32 bits at the least; the aligned word that contains the tail also
	// contains bid of entry 0, so one store writes both: bid with the value it has. That is right
	// for two reasons. Only the owner ever writes bid, here or in Add, so the value cannot be out
	// of date. The kernel, which may be reading it, finds the same value before and after. (With
	// IOU_PBUF_RING_INC the kernel writes addr and n of an entry, which are outside the word.) The
	// pair is laid over a word in memory, so that its halves fall where they belong in either byte
	// order.
	var word uint32
	pair := (*[2]uint16)(unsafe.Pointer(&word))
	pair[0], pair[1] = b.entries.bid, b.tail
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b.entries.bid)), word)
}

// Close unregisters the group and unmaps the ring. Further calls do nothing. Receives that wait in
// the group end with ENOBUFS when data arrives. The kernel still writes to buffers that it has
// taken, so cancel and reap the receives before releasing the buffers' memory. The Ring may be
// closed first.
func (b *BufRing) Close() error {
	if b.mem.size == 0 {
		return nil
	}
	var err error
	if b.ring.fd >= 0 {
		err = b.unregister()
	}
	b.entries = nil
	if uerr := b.mem.unmap(); err == nil {
		err = uerr
	}
	return err
}
