//go:build !explore

package sched

import "sync/atomic"

// The atomic words of the lock-free parts: the ring queue, the state word, the
// idle state and the parker. They are names for what sync/atomic has. Under the
// tag explore they are shims that hand control to the interleaving explorer.
type (
	atomicInt32  = atomic.Int32
	atomicUint32 = atomic.Uint32
	atomicUint64 = atomic.Uint64
	atomicTask   = atomic.Pointer[Task]
)
