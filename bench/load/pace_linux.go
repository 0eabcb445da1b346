package load

import (
	"math/rand/v2"
	"time"
)

// A pace is when messages are to be sent. All times are since the generator began.
type pace struct {
	began  time.Time
	from   time.Duration // start of the measurement
	to     time.Duration // and ends
	gap    float64       // of an open loop: nanoseconds between two messages, on average; 0: a closed loop
	random []float64     // nil: it is the same between all; else when each of so many is, and so on after the last
	due    int           // of an open loop: messages whose time has come
	depth  int           // of a closed one; 0: stopped
	halted bool
}

func newPace(cfg Config) pace {
	p := pace{began: time.Now(), from: 1 << 62, to: 1 << 62, depth: max(1, cfg.Depth)}
	if cfg.Rate > 0 {
		p.gap = float64(time.Second) / cfg.Rate
		if cfg.Random {
			p.random = arrivals(p.gap)
		}
	}
	return p
}

// manyArrivals is how many arrivals there are until they come again.
const manyArrivals = 1 << 16

// arrivals are those of a Poisson process, the same in each run. A message then finds the server as
// busy as it is on average. Now and then two messages arrive at once, which never happens at even
// intervals.
func arrivals(gap float64) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]float64, manyArrivals+1)
	for i := range manyArrivals {
		all[i+1] = all[i] + rng.ExpFloat64()
	}
	scale := gap * manyArrivals / all[manyArrivals] // so that the rate is met
	for i := range all {
		all[i] *= scale
	}
	return all
}

func (p *pace) open() bool { return p.gap > 0 }

func (p *pace) now() time.Duration { return time.Since(p.began) }

// window gets the start of the measurement, and its length.
func (p *pace) window(d time.Duration) {
	p.from = p.now()
	p.to = p.from + d
}

// measured reports whether a message counts that was to be sent at that time, and is now back or
// sent.
func (p *pace) measured(intended, now time.Duration) bool {
	if p.open() {
		return intended >= p.from && intended < p.to
	}
	return now >= p.from && !p.halted
}

// at is when the message with that number, of all connections together, is to be sent.
func (p *pace) at(number int) time.Duration {
	if p.random != nil {
		return time.Duration(float64(number/manyArrivals)*p.random[manyArrivals] + p.random[number%manyArrivals])
	}
	return time.Duration(float64(number) * p.gap)
}

// owed is how many messages of the window were not begun when it ended: the generator was late, and
// they count.
func (p *pace) owed() int {
	if !p.open() || !p.halted {
		return 0
	}
	n := 0
	for p.at(p.due+n) < p.to {
		n++
	}
	return n
}

// next is the number of a message whose time has come; else it is how long that takes.
func (p *pace) next(now time.Duration) (number int, wait time.Duration, ok bool) {
	if p.halted && p.at(p.due) >= p.to {
		return 0, longestWait, false
	}
	if wait := p.at(p.due) - now; wait > 0 {
		return 0, min(wait, longestWait), false
	}
	p.due++
	return p.due - 1, 0, true
}

func (p *pace) stop() { p.halted, p.depth = true, 0 }
