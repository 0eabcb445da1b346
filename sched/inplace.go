package sched

import "runtime"

// A task that waits for an ordinary goroutine usually waits for one that wants this very
// processor: a call of a blocking pool, say. With nothing else to do its worker would
// suspend it, tick, give way to the goroutines, find the task in its inbox, and resume it.
// So the task gives way itself, in place, and goes on if it has been woken meanwhile: that
// spares two switches of stacks and a tick, half of a round trip.
//
// It is for workers without a driver, which have nobody else to look after and keep no
// thread. What others put down for the worker meanwhile is found when it has no
// such wake, and that of the task itself stays in its state word: leaving running for idle
// sees it (see state). So nothing changes about who notices what; only, a tick comes up to
// mostInPlace such waits later.

// mostInPlace is how often a task may wait in place in one run.
const (
	mostInPlace = 16
	inPlaceCost = budgetPerRun / mostInPlace
)

// inPlace is what a worker has learned of such waits: after each that was for nothing it
// leaves out twice as many.
type inPlace struct {
	skip   uint16 // so many more
	misses uint8  // in a row
}

const mostInPlaceMisses = 8

func (p *inPlace) expected() bool {
	if p.skip > 0 {
		p.skip--
		return false
	}
	return true
}

func (p *inPlace) came(yes bool) {
	if yes {
		p.misses = 0
		return
	}
	p.misses = min(p.misses+1, mostInPlaceMisses)
	p.skip = 1<<p.misses - 1
}

// waitInPlace lets other goroutines run, if the worker has nothing else to do, and reports
// whether the task has been woken by then: it is running anew, as if it had been suspended.
func (co *coroutine) waitInPlace() (woken bool) {
	w, cx := co.cx.worker, &co.cx
	if !w.rt.cfg.driverless || cx.budget < inPlaceCost || w.yields || w.woken || w.long.wary || w.hooked ||
		cx.task.coroutine != co || w.rt.timers.next.Load() != never || !w.undisturbed() || !w.inPlace.expected() {
		return false
	}
	cx.budget -= inPlaceCost
	runtime.Gosched()
	w.late = true
	woken = w.undisturbed() && cx.task.state.goOn()
	w.inPlace.came(woken)
	return woken
}

// undisturbed reports that the worker has nothing to do but the task that it runs.
func (w *worker) undisturbed() bool {
	return w.inbox.len.Load() == 0 && !w.hasWork() && !w.rt.workFor(w) && !w.rt.stopping.Load()
}
