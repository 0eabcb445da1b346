//go:build unix || windows

package reactor

import (
	"syscall"
	"time"
)

// A coalescer lets the owner's thread sleep for a moment (a nap) before it waits (Config.Coalesce),
// so that several events cost one wake-up. A nap is part of the wait, which lasts no longer for it.
// The coalescer has no clock: the number of completions of the Poll shows whether a nap was worth
// it. If there were few, the next waits have no nap. The number of such waits doubles each time.
type coalescer struct {
	limit  time.Duration
	napper napper // nil: the poller cannot sleep

	napped bool // in this Poll
	rest   int  // number of waits that will have no nap
	rests  int  // rest after the last nap; 0: that nap was worth it
}

// A napper is a poller whose owner can sleep so that only wake ends it. With hold it keeps its
// processor.
type napper interface {
	nap(d time.Duration, hold bool)
}

const (
	// leastGathered is the number of completions for which a nap is worth it: a timer costs about
	// as much as two wake-ups.
	leastGathered = 3

	// leastRest and mostRest bound the number of waits without a nap after one that was not worth
	// it.
	leastRest = 8
	mostRest  = 1024
)

// due reports whether a wait of up to this length begins with a nap.
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

// brought takes the number of completions of a Poll.
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

// wait waits in the poller. Events that have occurred before are not delayed. Events during a nap
// are reported at its end, which is one wake-up.
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
