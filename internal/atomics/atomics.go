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

// Lock locks a mutex that is held for a few dozen instructions at a time and by
// many: it tries for as long as that usually takes before it does what
// Mutex.Lock does, whose shortest wait is over a microsecond, and whose longer ones
// park the goroutine, with the thread if that is locked.
func Lock(mu *Mutex) {
	for range 100 {
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
