//go:build explore

package sched

// blockers are those not in use: the one given back last is used next, in each schedule.
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
