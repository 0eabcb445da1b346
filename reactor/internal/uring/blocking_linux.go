package uring

import (
	"syscall"
	_ "unsafe" // for linkname
)

// blockingSyscall is syscall.Syscall6 for a call that waits for long. Its thread gives the Go P
// away first, as Go's runtime does in its own waits, and takes an idle one when the call returns.
// In Syscall6 the P stays with the thread until Go's monitor takes it away, after up to 10 ms in
// which it looks some 60 times.
//
// From one call of the runtime to the other the stack must not grow, the frame must stay, and no
// pointer may be written to the heap.
//
//go:nosplit
//go:norace
func blockingSyscall(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1 uintptr, errno syscall.Errno) {
	entersyscallblock()
	r1, _, errno = syscall.RawSyscall6(trap, a1, a2, a3, a4, a5, a6)
	exitsyscall()
	return r1, errno
}

// The runtime keeps these two for such use by other packages: see the comments there, and
// https://go.dev/issue/67401.

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
