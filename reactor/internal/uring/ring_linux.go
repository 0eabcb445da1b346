package uring

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is a submission queue and a completion queue shared with the kernel. The package comment
// lists who may call each method.
//
// The four indices are the only words that both sides touch while running. Each has one writer:
//
//	sq.head  kernel   entries it has taken: their slots are free again
//	sq.tail  owner    entries published by Enter
//	cq.tail  kernel   completions posted
//	cq.head  consumer completions released by AdvanceCQ: their slots are the kernel's again
//
// A writer fills slots and then stores its index with release. A reader loads the index with
// acquire and then touches the slots. sync/atomic gives both (it is sequentially consistent). The
// indices wrap at 2^32; a slot is index & mask.
type Ring struct {
	fd       int
	flags    uint32 // setup flags in force
	features uint32

	sq sqRing
	cq cqRing

	maps [3]mapping // what Close unmaps; unused ones have no size

	// Enter's argument block. The kernel reads both during the call, by address; a Ring is on the
	// heap, where nothing moves, and so are they.
	arg getEventsArg
	ts  Timespec
}

type sqRing struct {
	head    *uint32
	tail    *uint32
	flags   *uint32
	sqes    *SQE // first of entries
	entries uint32
	mask    uint32
	next    uint32 // owner's own tail: prepared up to here, published by Enter
}

type cqRing struct {
	head    *uint32
	tail    *uint32
	dropped *uint32
	cqes    *CQE // first of entries
	entries uint32
	mask    uint32
}

// FD is the ring's descriptor, -1 once closed.
func (r *Ring) FD() int { return r.fd }

// Flags are the setup flags in force, including those that New added.
func (r *Ring) Flags() uint32 { return r.flags }

// Features are the kernel's IORING_FEAT_ bits.
func (r *Ring) Features() uint32 { return r.features }

// SQEntries is the submission queue's size, after rounding up to a power of two.
func (r *Ring) SQEntries() uint32 { return r.sq.entries }

// CQEntries is the completion queue's size, after rounding up to a power of two.
func (r *Ring) CQEntries() uint32 { return r.cq.entries }

// NextSQE returns the next free entry, zeroed, or nil if the queue is full: call Enter then. The
// entry is the caller's until the next Enter. Owner only.
func (r *Ring) NextSQE() *SQE {
	// Acquire: the kernel's reads of a slot come before its store of head, our write comes after.
	if r.sq.next-atomic.LoadUint32(r.sq.head) >= r.sq.entries {
		return nil
	}
	s := (*SQE)(unsafe.Add(unsafe.Pointer(r.sq.sqes), uintptr(r.sq.next&r.sq.mask)*unsafe.Sizeof(SQE{})))
	*s = SQE{}
	r.sq.next++
	return s
}

// Prepared counts the entries that the kernel has not taken yet. Owner only.
func (r *Ring) Prepared() uint32 { return r.sq.next - atomic.LoadUint32(r.sq.head) }

// CQReady counts the completions that wait to be seen.
func (r *Ring) CQReady() uint32 {
	// Acquire: the kernel writes a completion and then its tail. head first: it never passes tail,
	// so that a count taken beside a running consumer is too large at worst, never negative.
	head := atomic.LoadUint32(r.cq.head)
	return atomic.LoadUint32(r.cq.tail) - head
}

// CQE returns the i-th waiting completion, i < CQReady. It points into the queue: copy the needed
// fields before AdvanceCQ gives the slot back. Consumer only.
func (r *Ring) CQE(i uint32) *CQE {
	slot := (atomic.LoadUint32(r.cq.head) + i) & r.cq.mask
	return (*CQE)(unsafe.Add(unsafe.Pointer(r.cq.cqes), uintptr(slot)*unsafe.Sizeof(CQE{})))
}

// AdvanceCQ gives the first n waiting completions' slots back to the kernel, n <= CQReady. Consumer
// only.
func (r *Ring) AdvanceCQ(n uint32) {
	// Release: our reads of the slots come before the store. Only the consumer writes head, so a
	// load and a store will do.
	atomic.StoreUint32(r.cq.head, atomic.LoadUint32(r.cq.head)+n)
}

// TaskrunPending reports that completion work waits for its thread to enter the kernel; any Enter
// with getEvents runs it. Only rings with IORING_SETUP_TASKRUN_FLAG say so.
func (r *Ring) TaskrunPending() bool { return atomic.LoadUint32(r.sq.flags)&IORING_SQ_TASKRUN != 0 }

// Overflowed reports that completions found the queue full and wait in the kernel; an Enter with
// getEvents moves them in as far as there is room.
func (r *Ring) Overflowed() bool { return atomic.LoadUint32(r.sq.flags)&IORING_SQ_CQ_OVERFLOW != 0 }

// Dropped is how many completions the kernel has dropped: the queue was full, and there was no
// memory to keep them. It wraps at 2^32. The kernel counts a drop before it posts later
// completions. So call it after CQReady: if it is unchanged, no earlier completion was dropped.
func (r *Ring) Dropped() uint32 { return atomic.LoadUint32(r.cq.dropped) }

// Close unmaps the queues and closes the descriptor. Further calls do nothing. The caller ensures
// that the ring is not in use: memory of requests in flight must outlive them (see the package
// comment). A closed ring is empty and full at once: no entries, no completions, and Enter returns
// EBADF.
func (r *Ring) Close() error {
	if r.fd < 0 {
		return nil
	}
	fd := r.fd
	r.fd = -1
	none := new(uint32)
	r.sq = sqRing{head: none, tail: none, flags: none}
	r.cq = cqRing{head: none, tail: none, dropped: none, cqes: new(CQE)}
	err := r.unmap()
	if cerr := closeFD(fd); err == nil {
		err = cerr
	}
	return err
}

var _ [24]byte = [unsafe.Sizeof(getEventsArg{})]byte{}

// getEventsArg is struct io_uring_getevents_arg.
type getEventsArg struct {
	sigmask     uint64
	sigmaskSize uint32
	minWaitUsec uint32 // 6.12; padding before, and must be zero then
	ts          uint64
}

func closeFD(fd int) error {
	// No retry on EINTR: Linux has freed the number by then, and it may be someone else's already.
	if err := unix.Close(fd); err != nil && err != unix.EINTR {
		return syscallError("close", err)
	}
	return nil
}
