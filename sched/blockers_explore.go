//go:build explore

package sched

import "sync"

// blockers are the blockers that are not in use. The last one returned is used next, so that each
// schedule is reproducible. Tests with goroutines use them as well, so there is a lock. It is not
// one of the explorer's: no thread is switched while it is held.
var (
	blockersMu sync.Mutex
	blockers   []*blocker
)

func spareBlocker() *blocker {
	if b := lastBlocker(); b != nil {
		return b
	}
	return makeBlocker(make(chan struct{}, 1)) // without the lock: its state is one of the explorer's
}

func lastBlocker() *blocker {
	blockersMu.Lock()
	defer blockersMu.Unlock()
	last := len(blockers) - 1
	if last < 0 {
		return nil
	}
	b := blockers[last]
	blockers = blockers[:last]
	return b
}

func keepBlocker(b *blocker) {
	blockersMu.Lock()
	defer blockersMu.Unlock()
	blockers = append(blockers, b)
}
