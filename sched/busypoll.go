package sched

import "time"

// A busyPoller polls the driver for a while before its worker waits, if that has succeeded often
// of late. An event that arrives during the busy-poll finds the worker awake.
type busyPoller struct {
	hits float64 // the share of waits that ended within Config.BusyPoll, recent ones weigh more
}

const (
	maxBusyPoll = time.Millisecond

	// leastHits is the share below which the worker does not busy-poll, but goes on counting.
	leastHits = 0.25

	// maxBusyPolls bounds the loop when the clock stands still: no call takes less than 10 ns.
	maxBusyPolls = int(maxBusyPoll / (10 * time.Nanosecond))
)

func (b *busyPoller) learn(hit bool) {
	b.hits *= 15. / 16
	if hit {
		b.hits += 1. / 16
	}
}

// busyWait busy-polls first, and then waits.
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

// busyPoll polls until there is an event, or the time is over.
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
