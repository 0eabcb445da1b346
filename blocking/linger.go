package blocking

import (
	"runtime"
	"time"
)

// A thread that has made a call, and finds no other, lingers: it lets other goroutines
// run once before it looks again, and only then goes idle. A task of a runtime without a
// driver that makes one call after the other has its worker wait for a processor in the
// same manner, so its next call is there by then; and neither side needs to be woken,
// which costs half as much again as the rest of a round trip.
//
// A company is what a thread knows of that. It expects none for a while, and for twice as
// long each time, when none has come: the task's worker has a thread of its own, and is
// slower than that; or nobody has anything to do. Nor does it when that took long: others
// want the processors, and whoever waits for a turn among them comes later than
// one that is woken.
type company struct {
	alone   uint16 // so many calls more
	misses  uint8  // in a row
	untimed uint8  // so many times more
	slow    uint8  // in a row, of those that were timed
}

const (
	lingerSlow    = time.Millisecond
	lingerSampled = 16 // reading the clock twice costs half of what is gained
	mostMisses    = 8
	mostSlow      = 7
)

func (c *company) expected() bool {
	if c.alone > 0 {
		c.alone--
		return false
	}
	return true
}

// await lets others run.
func (c *company) await() {
	if c.untimed > 0 {
		c.untimed--
		runtime.Gosched()
		return
	}
	began := time.Now()
	runtime.Gosched()
	if time.Since(began) < lingerSlow {
		c.untimed, c.slow = lingerSampled-1, 0
		return
	}
	c.slow = min(c.slow+1, mostSlow)
	c.alone = 32 << c.slow
}

// came says whether it has helped.
func (c *company) came(yes bool) {
	if yes {
		c.misses = 0
		return
	}
	c.misses = min(c.misses+1, mostMisses)
	c.alone = max(c.alone, 1<<c.misses-1)
}
