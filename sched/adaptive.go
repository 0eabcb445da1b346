package sched

import "time"

const (
	// targetLatency is how long a task should wait in the global queue at most.
	targetLatency = time.Millisecond

	minInterval = 8
	maxInterval = 255

	firstCost = 50 * time.Microsecond // of a task, until tasks have been measured

	// defaultHold is about the time in which a hold costs as much as the hand-over of the processor
	// that it saves.
	defaultHold = 100 * time.Microsecond
)

// adaptive is what a worker learns from its own tasks and waits. Only the worker's goroutine uses
// it.
type adaptive struct {
	cost     float64 // nanoseconds of a task's run, averaged with a weight of 0.1 for the last tick
	interval int     // tasks between two looks at the global queue
	left     int     // tasks until the next look
	skipped  int     // ticks since the last one that was measured

	hold    time.Duration // how long to hold: maxHold or 0
	maxHold time.Duration
	useful  float64 // the share of waits that were no longer than maxHold; recent ones weigh more
}

func (a *adaptive) init(w *worker) {
	a.maxHold = max(0, w.rt.cfg.Hold)
	a.hold, a.useful = a.maxHold, 1
	a.set(w, float64(firstCost))
	a.left = a.interval
}

// measureEvery is the number of ticks with few tasks between two measured ones. To read the clock
// costs as much as a part of such a tick.
const (
	measureEvery = 4
	lateEvery    = 32 // of the ticks that can skip reading the clock: see nowMayBeStale
)

// measure updates the averages with the tasks of a tick. It also updates the tick's time.
func (a *adaptive) measure(w *worker, ran int) {
	if a.skipped++; w.nowStale || ran < tasksPerTick/8 && a.skipped < measureEvery && !w.long.timing {
		return
	}
	began := w.now
	w.now, w.meter.fresh = w.rt.Now(), true
	w.tickTook(w.now-began, a.skipped)
	a.skipped = 0
	w.countUntimed(ran)
	a.set(w, 0.9*a.cost+0.1*max(1, float64(w.now-began)/float64(ran)))
	w.suspect(w.now - began)
}

func (a *adaptive) set(w *worker, cost float64) {
	a.cost = cost
	a.interval = int(min(maxInterval, max(minInterval, float64(targetLatency)/cost)))
	if last := float64(w.cost.Load()); cost < 0.8*last || cost > 1.25*last {
		w.cost.Store(int64(cost)) // other workers need it roughly
	}
}

// globalDue counts tasks and reports when the global queue goes first. The shorter the tasks are,
// the more of them run between two looks.
func (a *adaptive) globalDue() bool {
	a.left--
	if a.left > 0 {
		return false
	}
	a.left = a.interval
	return true
}

// waited learns from a wait, which was either short, so that a hold was or had been of use, or not.
// While no more than about every other wait is short, the worker does not hold.
func (a *adaptive) waited(short bool) {
	a.useful *= 7. / 8
	if short {
		a.useful += 1. / 8
	}
	a.hold = 0
	if a.useful > 0.6 {
		a.hold = a.maxHold
	}
}

// shareQueue wakes another worker if the tasks that I/O has queued, except the one that runs next,
// take this worker longer than a wake-up costs. To wake a parked worker costs several µs; the task
// of an echo takes half of one.
func (w *worker) shareQueue() {
	if w.urgent.Load() && w.queue.len() == 0 {
		w.urgent.Store(false)
	}
	if w.noOtherIdle() {
		return
	}
	if w.mayKeep(w.queue.len() - 1) {
		w.count.WakesSpared++
	} else {
		w.rt.notify()
	}
}

// noOtherIdle reports that no other worker is idle.
func (w *worker) noOtherIdle() bool {
	return len(w.rt.workers) == 1 && !w.isSpare() || !w.rt.idle.anyParkedBut(w.index)
}

// mayKeep reports that n tasks take this worker no longer than it costs to wake another one.
func (w *worker) mayKeep(n int) bool {
	return float64(n)*w.adapt.cost <= float64(w.rt.cfg.WakeCost)
}
