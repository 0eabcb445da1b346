//go:build !explore

package atomics

import (
	"sync"
	"sync/atomic"
)

type (
	Int32          = atomic.Int32
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uint64         = atomic.Uint64
	Bool           = atomic.Bool
	Pointer[T any] = atomic.Pointer[T]
	Mutex          = sync.Mutex
)

// Lock locks a contended mutex that is held for a few dozen instructions at a time. It spins for
// about as long as that takes, and then calls Mutex.Lock. The shortest wait of Mutex.Lock is over a
// microsecond. Its longer waits park the goroutine, and the thread too if the goroutine is locked
// to it.
func Lock(mu *Mutex) {
	for range 100 {
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
