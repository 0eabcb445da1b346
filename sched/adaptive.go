package sched

import "time"

const (
	// targetLatency is how long a task should wait in the global queue at most.
	targetLatency = time.Millisecond

	minInterval = 8
	maxInterval = 255

	firstCost = 50 * time.Microsecond // of a task, until it has been measured
	minHold   = 50 * time.Microsecond
)

// adaptive is what a worker learns from its tasks and waits. Its goroutine alone
// uses it.
type adaptive struct {
	cost     float64 // nanoseconds of a task's run, averaged with a weight of 0.1 for the last tick
	interval int     // tasks between two looks at the global queue
	left     int     // until the next one
	skipped  int     // ticks not measured

	hold    time.Duration // how long to hold
	maxHold time.Duration
}

func (a *adaptive) init(w *worker) {
	a.maxHold = max(0, w.rt.cfg.Hold)
	a.hold = a.maxHold
	a.set(w, float64(firstCost))
	a.left = a.interval
}

// measureEvery is how many ticks with few tasks go unmeasured between two: reading
// the clock costs as much as a part of such a tick.
const (
	measureEvery = 4
	lateEvery    = 32 // of those that need not know the time: see mayBeLate
)

// measure takes in a tick's tasks. The tick's time is brought up to date then.
func (a *adaptive) measure(w *worker, ran int) {
	if a.skipped++; w.late || ran < tasksPerTick/8 && a.skipped < measureEvery && !w.long.wary {
		return
	}
	a.skipped = 0
	began := w.now
	w.now = w.rt.Now()
	a.set(w, 0.9*a.cost+0.1*max(1, float64(w.now-began)/float64(ran)))
	w.suspect(w.now - began)
}

func (a *adaptive) set(w *worker, cost float64) {
	a.cost = cost
	a.interval = int(min(maxInterval, max(minInterval, float64(targetLatency)/cost)))
	if last := float64(w.cost.Load()); cost < 0.8*last || cost > 1.25*last {
		w.cost.Store(int64(cost)) // others need it roughly
	}
}

// globalDue counts tasks and reports when the global queue goes first: the
// shorter the tasks, the more of them come between.
func (a *adaptive) globalDue() bool {
	a.left--
	if a.left > 0 {
		return false
	}
	a.left = a.interval
	return true
}

// held adapts the hold to its success: while holds end for nothing it gets
// shorter, until there is none.
func (a *adaptive) held(success bool) {
	switch {
	case success:
		a.hold = min(a.maxHold, 2*a.hold)
	case a.hold > minHold:
		a.hold = max(minHold, a.hold/2)
	default:
		a.hold = 0
	}
}

// blocked brings the hold back when it would have been worth it.
func (a *adaptive) blocked(waited time.Duration) {
	if waited < a.maxHold {
		a.hold = min(a.maxHold, max(minHold, 2*a.hold))
	}
}

// shareBacklog wakes a peer if what I/O has queued takes this worker longer than
// waking costs. Waking a parked worker costs several µs, and an echo's task half
// of one.
func (w *worker) shareBacklog() {
	if w.urgent.Load() && w.queue.len() == 0 {
		w.urgent.Store(false)
	}
	if w.noOtherIdle() {
		return
	}
	if w.mayKeep(w.queue.len()) {
		w.count.WakesSpared++
	} else {
		w.rt.notify()
	}
}

// noOtherIdle reports that there is no other worker that has nothing to do.
func (w *worker) noOtherIdle() bool {
	return len(w.rt.workers) == 1 || !w.rt.idle.anyParkedBut(w.index)
}

// mayKeep reports that so many tasks take this worker no longer than waking another one costs.
func (w *worker) mayKeep(n int) bool {
	return float64(n)*w.adapt.cost <= float64(w.rt.cfg.WakeCost)
}
