package sched

import "github.com/suiro-go/suiro/internal/panics"

// runTasks runs up to limit tasks, and returns how many it has run.
func (w *worker) runTasks(limit int) (ran int) {
	for ran < limit {
		p := w.runBatch(&ran, limit)
		if p == nil {
			break
		}
		if t := w.cx.task; t != nil {
			w.crash(t, p)
		} else {
			w.rt.LogPanic("sched: a hook panicked", p)
		}
	}
	w.cx.task, w.running = nil, false
	w.count.Polled += uint64(ran)
	return ran
}

// runBatch runs tasks until the limit is reached or there are none. A panic ends the batch, and is
// returned. It does not return after runtime.Goexit: see loop.
func (w *worker) runBatch(ran *int, limit int) (p *PanicError) {
	finished := false
	defer func() {
		if finished {
			return
		}
		if t := w.cx.task; t != nil && w.hasNewBeat() {
			w.timeRun(t, *ran)
		}
		*ran++
		p = (*PanicError)(panics.Of(recover()))
	}()
	cx := &w.cx
	w.running = true
	for *ran < limit {
		t := w.next()
		if t == nil {
			break
		}
		if t.long && !w.long.turn && w.setAside(t) {
			continue
		}
		if w.rt.wander != nil && w.passesOn(t) {
			continue
		}
		if w.searching {
			w.found()
		}
		w.ran = true
		cx.begin(t)
		w.slow.shown.Store(t) // after begin: a look that sees t also sees the writes before the run
	again:
		w.beginRun(t)
		var done bool
		switch {
		case w.observed:
			done = w.runObserved(t)
		case t.coroutine != nil:
			done = t.coroutine.resumeOn(w)
		default:
			done = t.body.Run(cx)
		}
		w.endRun()
		if w.long.timing || w.long.turn || w.hasNewBeat() {
			w.timeRun(t, *ran)
			if w.longCutsIn() {
				limit = *ran + 1
			}
		}
		*ran++
		switch {
		case done:
			w.complete(t)
		case *ran < limit && w.runsOn(t):
			cx.budget = budgetPerRun
			goto again
		default:
			w.suspend(t)
		}
	}
	finished = true
	return nil
}

// runsOn reports whether the running task has been woken meanwhile and no other task waits. If so,
// it need not be queued, because it would be taken again at once.
func (w *worker) runsOn(t *Task) bool {
	word := t.state.word.Load()
	if !w.woken && word&notified == 0 || w.yields || t.long || w.rt.wander != nil || t.home != nil && t.home != w || w.pinned.head != nil ||
		w.lifo.Load() != nil || w.queue.len() > 0 || w.batch.len() > 0 || w.rt.global.len.Load() > 0 {
		return false
	}
	if w.woken && word&(notified|canceled) == 0 {
		w.woken = false
		return true
	}
	if t.state.keepRunning() {
		w.woken = false
		return true
	}
	return false
}

// suspend queues the running task again if it is to run again.
func (w *worker) suspend(t *Task) {
	switch {
	case w.yields:
		w.yields, w.woken = false, false
		t.state.reschedule()
		w.enqueueYielded(t)
	case w.woken:
		w.woken = false
		t.state.reschedule()
		w.enqueue(t)
	case t.state.suspend():
		w.enqueue(t)
	}
}

func (w *worker) complete(t *Task) {
	w.cx.task, w.yields, w.woken = nil, false, false // a panic from here on is not the task's
	w.count.Completed++
	if t.coroutine != nil {
		w.dismiss(t)
	}
	if t.state.word.Load()&contexted != 0 {
		w.rt.contexts.end(t) // first: a joiner that sees the task done also sees its context ended
	}
	word := t.state.complete()
	if e := t.envelope(); e != nil {
		e.completed(&w.cx, word)
	}
}

// crash ends a task whose run did not return, unless its Body is a Survivor.
func (w *worker) crash(t *Task, err error) {
	if s, ok := t.body.(Survivor); ok && err == ErrGoexit {
		s.Exited(&w.cx)
		w.cx.task, w.yields, w.woken = nil, false, true
		w.suspend(t)
		return
	}
	if t.coroutine != nil {
		w.unwind(t)
	}
	if e := t.envelope(); e != nil {
		e.crashed(err)
	} else if p, ok := err.(*PanicError); ok {
		w.rt.LogPanic("sched: a task panicked", p)
	} else {
		w.rt.cfg.Logger.Error("sched: a task ended its goroutine", "worker", w.index, "error", err)
	}
	w.complete(t)
}
