//go:build !explore

package sched

import (
	"runtime"
	"sync/atomic"
)

// A spinLock guards a few instructions. Unlike a sync.Mutex it allows a handle that nobody keeps
// to stay on the stack.
type spinLock struct{ held atomic.Bool }

func (l *spinLock) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
}

func (l *spinLock) Unlock() { l.held.Store(false) }
