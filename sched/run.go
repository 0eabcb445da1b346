package sched

import "runtime/debug"

// runTasks runs at most so many tasks, and returns how many those were.
func (w *worker) runTasks(limit int) (ran int) {
	for ran < limit && !w.runBatch(&ran, limit) {
	}
	w.cx.task, w.running = nil, false
	w.count.Polled += uint64(ran)
	return ran
}

// runBatch runs tasks until the limit is reached or there are none. A panic ends
// the batch and that task, not the worker.
func (w *worker) runBatch(ran *int, limit int) (finished bool) {
	defer func() {
		if finished {
			return
		}
		*ran++
		v := recover()
		switch t := w.cx.task; {
		case v == nil: // an exit: see loop
		case t == nil:
			w.rt.cfg.Logger.Error("sched: a hook panicked", "worker", w.index, "panic", v, "stack", string(debug.Stack()))
		default:
			w.crash(t, &PanicError{Value: v, Stack: debug.Stack()})
		}
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
		if w.searching {
			w.found()
		}
		w.ran = true
		cx.begin(t)
	again:
		var done bool
		switch {
		case w.hooked:
			done = w.runHooked(t)
		case t.coroutine != nil:
			done = t.coroutine.goOn()
		default:
			done = t.body.Run(cx)
		}
		if w.long.wary || w.long.turn {
			w.timeRun(t)
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
	return true
}

// runsOn reports whether the running task, which has been woken meanwhile, is the
// only one there is: then it need not be queued to be found again at once.
func (w *worker) runsOn(t *Task) bool {
	word := t.state.word.Load()
	if !w.woken && word&notified == 0 || w.yields || t.long || t.home != nil && t.home != w || w.pinned.head != nil ||
		w.lifo.Load() != nil || w.queue.len() > 0 || w.batch.len() > 0 || w.rt.global.len.Load() > 0 {
		return false
	}
	if w.woken && word&(notified|cancelled) == 0 {
		w.woken = false
		return true
	}
	if t.state.goOn() {
		w.woken = false
		return true
	}
	return false
}

// suspend queues the running task again if it is to run once more.
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
	w.cx.task, w.yields, w.woken = nil, false, false // what goes wrong from here on is not the task's run
	if t.coroutine != nil {
		w.dismiss(t)
	}
	word := t.state.complete()
	if e := t.envelope(); e != nil {
		e.completed(&w.cx, word)
	}
}

// crash ends a task whose run did not return, unless it is to go on.
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
		w.rt.cfg.Logger.Error("sched: a task panicked", "worker", w.index, "panic", p.Value, "stack", string(p.Stack))
	} else {
		w.rt.cfg.Logger.Error("sched: a task ended its goroutine", "worker", w.index, "error", err)
	}
	w.complete(t)
}
