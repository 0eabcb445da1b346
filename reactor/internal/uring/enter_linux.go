package uring

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Enter publishes the prepared entries and enters the kernel. It submits all of them. With
// minComplete above 0 it then waits until that many completions are ready. Owner only.
//
// getEvents runs waiting completion work and moves overflowed completions into the queue even
// without a wait. minComplete above 0 implies it. timeout bounds the wait: below 0 there is no
// bound, 0 tries once. A timeout needs IORING_FEAT_EXT_ARG; without it the kernel returns EINVAL.
//
// hold makes a raw system call, which keeps the Go P. It is cheap for a wait of microseconds, but
// until it ends no other goroutine runs on that P and a garbage collection waits for it. Without
// hold, the thread gives its P away before the call.
//
// Enter returns how many entries the kernel took, and 0 or the errno, for the caller to interpret.
// ETIME: the timeout passed. EINTR: a signal; enter again. EBUSY or EAGAIN: the kernel lacks room
// or memory; reap, then enter again. EBADR: completions were dropped; see Dropped.
//
// The kernel reports only one of the two. Once it has taken an entry, it drops an error of the wait
// that followed, ETIME and EINTR included, and errno is 0. When it takes fewer entries than there
// are, it does not wait at all. So count completions after every call, whatever it returned.
// Without IORING_SETUP_SUBMIT_ALL a bad entry completes with its error and ends the batch. The
// entries behind it stay prepared.
func (r *Ring) Enter(
	minComplete uint32, getEvents bool, timeout time.Duration, hold bool,
) (submitted uint32, errno unix.Errno) {
	if r.fd < 0 {
		return 0, unix.EBADF
	}
	// Release: the entries were written before this store, and the kernel, which loads the tail
	// with acquire, reads them after it.
	atomic.StoreUint32(r.sq.tail, r.sq.next)

	var flags, arg, size uintptr
	if getEvents || minComplete > 0 {
		flags = IORING_ENTER_GETEVENTS
	}
	if minComplete > 0 && timeout >= 0 {
		flags |= IORING_ENTER_EXT_ARG
		r.ts = Timespec{Sec: int64(timeout / time.Second), Nsec: int64(timeout % time.Second)}
		r.arg = getEventsArg{ts: addr(unsafe.Pointer(&r.ts))}
		arg, size = uintptr(unsafe.Pointer(&r.arg)), unsafe.Sizeof(r.arg)
	}
	var n uintptr
	if hold {
		n, _, errno = unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.Prepared()),
			uintptr(minComplete), flags, arg, size)
	} else {
		n, errno = blockingSyscall(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.Prepared()),
			uintptr(minComplete), flags, arg, size)
	}
	runtime.KeepAlive(r) // arg is an address inside it
	if errno != 0 {
		return 0, errno
	}
	return uint32(n), 0
}
