package sched

import "runtime"

// A task that waits for an ordinary goroutine usually waits for one that needs this very
// processor: a call of a blocking pool, for example. If the worker has nothing else to do, it
// would suspend the task, tick, yield to the goroutines, find the task in its inbox, and resume
// it. Instead the task itself yields to the goroutines, in place, and goes on if it has been woken
// meanwhile. That saves two switches of stacks and a tick, which is half of a round trip.
//
// This is for workers without a driver, which have no I/O to serve and no thread of their own. If
// the task has not been woken, the worker finds what others have queued for it. The wake-up of the
// task itself stays in its state word: the change from running to idle sees it (see state). So
// each event is noticed by the same party as otherwise. Only a tick may be up to mostInPlace such
// waits late.

// mostInPlace is how often a task may wait in place within one run.
const (
	mostInPlace = 16
	inPlaceCost = budgetPerRun / mostInPlace
)

// inPlace decides whether to wait in place, by the success of earlier waits. After each failure in
// a row it skips twice as many waits as before.
type inPlace struct {
	skip   uint16 // waits to skip
	misses uint8  // failures in a row
}

const mostInPlaceMisses = 8

func (p *inPlace) expected() bool {
	if p.skip > 0 {
		p.skip--
		return false
	}
	return true
}

func (p *inPlace) record(success bool) {
	if success {
		p.misses = 0
		return
	}
	p.misses = min(p.misses+1, mostInPlaceMisses)
	p.skip = 1<<p.misses - 1
}

// waitInPlace lets other goroutines run, if the worker has nothing else to do. It reports whether
// the task has been woken by then. If so, the task runs anew, as if it had been suspended.
func (co *coroutine) waitInPlace() (woken bool) {
	w, cx := co.cx.worker, co.cx
	if !w.rt.cfg.driverless || cx.budget < inPlaceCost || w.yields || w.woken || w.long.timing || w.hooked || w.rt.wander != nil ||
		cx.task.coroutine != co || w.rt.timers.next.Load() != never || !w.undisturbed() || !w.inPlace.expected() {
		return false
	}
	cx.budget -= inPlaceCost
	runtime.Gosched()
	w.nowStale = true
	if w.acknowledge() { // the wait does not count for the run
		w.timesFrom(w.rt.Now(), w.slow.ran)
	}
	woken = w.undisturbed() && cx.task.state.keepRunning()
	w.inPlace.record(woken)
	return woken
}

// undisturbed reports that the worker has no work except the task that it runs.
func (w *worker) undisturbed() bool {
	return w.inbox.len.Load() == 0 && !w.hasWork() && !w.rt.workFor(w) && !w.rt.stopping.Load()
}
