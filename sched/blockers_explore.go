//go:build explore

package sched

// blockers are the blockers that are not in use. The last one returned is used next, so that each
// schedule is reproducible.
var blockers []*blocker

func spareBlocker() *blocker {
	last := len(blockers) - 1
	if last < 0 {
		return makeBlocker(make(chan struct{}, 1))
	}
	b := blockers[last]
	blockers = blockers[:last]
	return b
}

func keepBlocker(b *blocker) { blockers = append(blockers, b) }
