package sched

import "time"

// A busyPoller looks for news before its worker waits, while that has been of use lately. What comes meanwhile finds
// a worker that is awake.
type busyPoller struct {
	hits float64 // the share of waits that ended within Config.BusyPoll, the last ones counting for more
}

const (
	maxBusyPoll = time.Millisecond

	// leastHits is the share below which it only waits, and goes on to count.
	leastHits = 0.25

	// maxBusyPolls is for a clock that stands still: no call takes less than the time that this allows for it.
	maxBusyPolls = int(maxBusyPoll / (10 * time.Nanosecond))
)

func (b *busyPoller) learn(hit bool) {
	b.hits *= 15. / 16
	if hit {
		b.hits += 1. / 16
	}
}

// busyWait is a wait that begins with looking.
func (w *worker) busyWait() (n int, err error) {
	began := w.rt.Now()
	over := false
	if w.busy.hits >= leastHits && !w.wanted() {
		n, over, err = w.busyPoll(began)
	}
	if !over {
		n, err = w.sleep()
	}
	w.busy.learn(w.rt.Now()-began <= w.rt.cfg.BusyPoll)
	return n, err
}

// busyPoll looks until there is something, or the time is over.
func (w *worker) busyPoll(began time.Duration) (n int, over bool, err error) {
	until := began + w.rt.cfg.BusyPoll
	if limit := w.untilTimer(); limit >= 0 {
		until = min(until, began+limit)
	}
	for range maxBusyPolls {
		n, err = w.driver.Poll(&w.cx, 0, false)
		if n > 0 || err != nil || !w.parker.isParked() || w.rt.stopping.Load() {
			return n, true, err
		}
		if w.rt.Now() >= until {
			break
		}
	}
	return 0, false, nil
}
