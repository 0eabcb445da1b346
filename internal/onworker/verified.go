package onworker

import (
	"sync/atomic"
	"unsafe"
)

// verified remembers where waits of ordinary goroutines were, by the addresses of their frames. A
// goroutine that waits at the same depth of its stack again, within the same millisecond, is not
// looked at again.
//
// The goroutine that was verified ran on the stack that has this frame, and no two stacks share an
// address. So a host can be on that stack only if the goroutine has ended since, or has moved to
// another stack. A host that has begun since makes all entries void, because its number in entered
// is part of them. One error is left. A host has moved to that stack, because its own was too
// small, within the same millisecond, and waits at the very same address. Then its worker blocks,
// as it would without the check.
var verified [1 << sizeLog]atomic.Uint64

const (
	sizeLog  = 10
	epochLog = 20 // of nanoseconds: about a millisecond

	mixer = 0x9e3779b97f4a7c15 // spreads a number over 64 bits: 2^64 divided by the golden ratio
)

// entry is what verified holds for the frame at that time, by the wall clock in nanoseconds.
func entry(frame uintptr, at int64) uint64 {
	return uint64(frame) ^ (uint64(at)>>epochLog+entered.Load()<<32)*mixer
}

func slot(entry uint64) *atomic.Uint64 { return &verified[entry*mixer>>(64-sizeLog)] }

// here is an address in the frame of its caller, or near it.
func here() uintptr {
	var b byte
	return uintptr(unsafe.Pointer(&b))
}
