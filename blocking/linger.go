package blocking

import (
	"runtime"
	"time"
)

// A thread that has made a call, and finds no other call, lingers: it lets other goroutines run
// once before it checks again, and only then becomes idle. A task of a runtime without a driver
// may make one call after the other. Its worker also lets other goroutines run while it waits, so
// its next call is queued by then. Neither side then needs to be woken, which would cost half as
// much as the rest of a round trip.
//
// A lingerPolicy decides whether a thread lingers, by the success of earlier attempts. After a
// failure it does not linger for a while, twice as long each time. Either the task's worker has its
// own thread and takes longer, or there is no work. A slow success has the same effect. Other
// goroutines then need the processors, and a thread that waits among them is later than a woken
// one.
type lingerPolicy struct {
	skip    uint16 // how many of the next calls end without lingering
	misses  uint8  // failures in a row
	untimed uint8  // attempts that will not be timed
	slow    uint8  // slow ones in a row, among those that were timed
}

const (
	lingerSlow    = time.Millisecond
	lingerSampled = 16 // to read the clock twice costs half of the gain
	mostMisses    = 8
	mostSlow      = 7
)

func (l *lingerPolicy) shouldLinger() bool {
	if l.skip > 0 {
		l.skip--
		return false
	}
	return true
}

// yield lets other goroutines run, and measures sometimes how long that takes.
func (l *lingerPolicy) yield() {
	if l.untimed > 0 {
		l.untimed--
		runtime.Gosched()
		return
	}
	began := time.Now()
	runtime.Gosched()
	if time.Since(began) < lingerSlow {
		l.untimed, l.slow = lingerSampled-1, 0
		return
	}
	l.slow = min(l.slow+1, mostSlow)
	l.skip = 32 << l.slow
}

// record notes whether lingering has found a call.
func (l *lingerPolicy) record(success bool) {
	if success {
		l.misses = 0
		return
	}
	l.misses = min(l.misses+1, mostMisses)
	l.skip = max(l.skip, 1<<l.misses-1)
}
