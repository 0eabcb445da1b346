//go:build !explore

package sched

import (
	"sync"
	"sync/atomic"
)

// The words and the lock of the parts that are argued step by step: the queues,
// the state word, the idle state and the parker. They are names for what sync and
// sync/atomic have. Under the
// tag explore they are shims that hand control to the interleaving explorer.
type (
	atomicInt32  = atomic.Int32
	atomicInt64  = atomic.Int64
	atomicUint32 = atomic.Uint32
	atomicUint64 = atomic.Uint64
	atomicTask   = atomic.Pointer[Task]
	mutex        = sync.Mutex
)
