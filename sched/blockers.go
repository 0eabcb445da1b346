//go:build !explore

package sched

import "sync"

// blockers are the blockers that are not in use.
var blockers = sync.Pool{New: func() any { return makeBlocker(make(chan struct{}, 1)) }}

func spareBlocker() *blocker { return blockers.Get().(*blocker) }

func keepBlocker(b *blocker) { blockers.Put(b) }
