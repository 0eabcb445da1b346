//go:build unix || windows

package reactor

import (
	"syscall"
	"time"
)

// A coalescer has the owner's thread sleep for a moment before it waits (Config.Coalesce), so that what comes meanwhile is
// dealt with at once and wakes it once. A nap is a part of the wait, which lasts no longer for it. It has no clock: whether a
// nap was worth it shows in what the Poll has then come to. If that is little, some waits do without one, and twice as many
// each time.
type coalescer struct {
	limit  time.Duration
	napper napper // nil: it cannot be done

	napped bool // in this Poll
	rest   int  // so many waits do without yet
	rests  int  // and so many did the last time; 0: the last nap was worth it
}

// A napper is a poller whose owner can sleep, deaf to all but wake. With hold it keeps its processor.
type napper interface {
	nap(d time.Duration, hold bool)
}

const (
	// leastGathered is what a nap has to bring: a timer costs about what two wake-ups do.
	leastGathered = 3

	// leastRest and mostRest are how many waits do without one when it has not.
	leastRest = 8
	mostRest  = 1024
)

// due reports whether a wait that may take so long begins with a nap.
func (c *coalescer) due(wait time.Duration) bool {
	if c.napper == nil || wait == 0 {
		return false
	}
	if c.rest > 0 {
		c.rest--
		return false
	}
	return true
}

// brought is told how many completions a Poll has come to.
func (c *coalescer) brought(n int) {
	switch {
	case !c.napped:
		return
	case n >= leastGathered:
		c.rests = 0
	default:
		c.rests = min(max(leastRest, 2*c.rests), mostRest)
	}
	c.napped, c.rest = false, c.rests
}

// wait waits in the poller. What is there already is not kept waiting; what comes during a nap is told at its end, and
// that is a wake-up, if there is one.
func (r *readiness) wait(wait time.Duration, hold bool) (int, syscall.Errno) {
	if !r.coalesce.due(wait) {
		return r.poller.wait(wait, hold)
	}
	if n, errno := r.poller.wait(0, hold); n > 0 || errno != 0 {
		return n, errno
	}
	r.coalesce.napped = true
	d := r.coalesce.limit
	if wait > 0 {
		d = min(d, wait)
		wait -= d
	}
	r.coalesce.napper.nap(d, hold)
	return r.poller.wait(wait, hold)
}
