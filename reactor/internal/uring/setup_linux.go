package uring

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Params are the choices for a new ring.
type Params struct {
	Entries   uint32 // submission queue, rounded up to a power of two; 0 is refused with EINVAL
	CQEntries uint32 // completion queue, likewise, at least Entries; 0: the kernel's default, twice Entries
	Flags     uint32 // IORING_SETUP_*
}

// foreignFlags change the layout of the queues, or need calls that this package does not have.
const foreignFlags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF | IORING_SETUP_ATTACH_WQ |
	IORING_SETUP_R_DISABLED | IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_NO_MMAP |
	IORING_SETUP_REGISTERED_FD_ONLY

// New sets a ring up. It asks for exactly p and retries nothing: on EINVAL, which older kernels
// answer to flags they do not know, the caller may try with fewer. EPERM and ENOSYS mean that the
// system does not offer io_uring (sysctl kernel.io_uring_disabled, a container's seccomp profile, a
// kernel before 5.1). Errors are *os.SyscallError. Flags that change the layout of entries, that
// need a kernel thread to be woken, or that start the ring disabled are refused with EINVAL.
func New(p Params) (*Ring, error) { return newRing(p, 0) }

// newRing is New for a kernel that lacks some features; tests use it to take the paths of old ones.
func newRing(p Params, without uint32) (*Ring, error) {
	if p.Flags&foreignFlags != 0 {
		return nil, os.NewSyscallError("io_uring_setup", unix.EINVAL)
	}
	kp := kernelParams{flags: p.Flags, cqEntries: p.CQEntries}
	if p.CQEntries != 0 {
		kp.flags |= IORING_SETUP_CQSIZE
	}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(p.Entries), uintptr(unsafe.Pointer(&kp)), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("io_uring_setup", errno)
	}
	r := &Ring{fd: int(fd), flags: kp.flags, features: kp.features &^ without}
	if err := r.mmap(&kp); err != nil {
		_ = r.Close() // the failed mapping is what matters
		return nil, err
	}
	return r, nil
}

// mmap maps the queues: both rings together where the kernel can, each alone before 5.4, and the
// entries.
func (r *Ring) mmap(kp *kernelParams) error {
	so, co := &kp.sqOff, &kp.cqOff
	cqSize := uintptr(co.cqes) + uintptr(kp.cqEntries)*unsafe.Sizeof(CQE{})
	sqSize := uintptr(so.array) + uintptr(kp.sqEntries)*unsafe.Sizeof(uint32(0))
	if kp.flags&IORING_SETUP_NO_SQARRAY != 0 {
		sqSize = uintptr(co.cqes) // no array: the words before the completions are all there is
	}
	single := r.features&IORING_FEAT_SINGLE_MMAP != 0
	if single {
		sqSize = max(sqSize, cqSize)
	}

	sq, err := r.mapAt(0, IORING_OFF_SQ_RING, sqSize)
	if err != nil {
		return err
	}
	cq := sq
	if !single {
		if cq, err = r.mapAt(1, IORING_OFF_CQ_RING, cqSize); err != nil {
			return err
		}
	}
	sqes, err := r.mapAt(2, IORING_OFF_SQES, uintptr(kp.sqEntries)*unsafe.Sizeof(SQE{}))
	if err != nil {
		return err
	}

	r.sq = sqRing{
		head:    word(sq, so.head),
		tail:    word(sq, so.tail),
		flags:   word(sq, so.flags),
		sqes:    (*SQE)(sqes),
		entries: kp.sqEntries,
		mask:    *word(sq, so.ringMask),
	}
	r.sq.next = *r.sq.tail
	r.cq = cqRing{
		head:    word(cq, co.head),
		tail:    word(cq, co.tail),
		dropped: word(cq, co.overflow),
		cqes:    (*CQE)(unsafe.Add(cq, co.cqes)),
		entries: kp.cqEntries,
		mask:    *word(cq, co.ringMask),
	}
	if kp.flags&IORING_SETUP_NO_SQARRAY == 0 {
		// Slot i of the index array names entry i, for good: entries go to the kernel in the order
		// in which NextSQE gave them out.
		array := unsafe.Slice(word(sq, so.array), kp.sqEntries)
		for i := range array {
			array[i] = uint32(i)
		}
	}
	return nil
}

func word(base unsafe.Pointer, off uint32) *uint32 { return (*uint32)(unsafe.Add(base, off)) }

// mapping is a piece of memory from mmap(2).
type mapping struct {
	addr unsafe.Pointer
	size uintptr
}

func (r *Ring) mapAt(i int, off int64, size uintptr) (unsafe.Pointer, error) {
	m, err := mapShared(r.fd, off, size)
	if err != nil {
		return nil, err
	}
	r.maps[i] = m
	return m.addr, nil
}

func mapShared(fd int, off int64, size uintptr) (mapping, error) {
	return mapMemory(fd, off, size, unix.MAP_SHARED|unix.MAP_POPULATE)
}

func mapMemory(fd int, off int64, size uintptr, flags int) (mapping, error) {
	p, err := unix.MmapPtr(fd, off, nil, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return mapping{}, syscallError("mmap", err)
	}
	return mapping{p, size}, nil
}

func (m *mapping) unmap() error {
	if m.size == 0 {
		return nil
	}
	err := unix.MunmapPtr(m.addr, m.size)
	*m = mapping{}
	return syscallError("munmap", err)
}

func (r *Ring) unmap() error {
	var errs [len(r.maps)]error
	for i := range r.maps {
		errs[i] = r.maps[i].unmap()
	}
	return errors.Join(errs[:]...)
}

// syscallError wraps err, if there is one, as os.NewSyscallError does.
func syscallError(call string, err error) error { return os.NewSyscallError(call, err) }

// kernelParams is struct io_uring_params.
type kernelParams struct {
	sqEntries    uint32
	cqEntries    uint32
	flags        uint32
	sqThreadCPU  uint32
	sqThreadIdle uint32
	features     uint32
	wqFD         uint32
	resv         [3]uint32
	sqOff        sqOffsets
	cqOff        cqOffsets
}

// sqOffsets is struct io_sqring_offsets.
type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, resv1 uint32

	userAddr uint64
}

// cqOffsets is struct io_cqring_offsets.
type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, resv1 uint32

	userAddr uint64
}

var (
	_ [40]byte  = [unsafe.Sizeof(sqOffsets{})]byte{}
	_ [40]byte  = [unsafe.Sizeof(cqOffsets{})]byte{}
	_ [120]byte = [unsafe.Sizeof(kernelParams{})]byte{}
)
