package sched

import "github.com/suiro-go/suiro/internal/inline"

// A driver's Poll may enter a waiting task that allows it: see package inline. To the task this is
// a run like any other, except for hooks, counts and the context. Its state word says that it runs
// (see state). So nobody else runs it, and the writes of its earlier runs are visible. If a wake-up
// arrives meanwhile, leave queues the task.

func init() {
	inline.Allow = func(task any) { task.(*Task).state.word.Or(enterable) }
	inline.Enter = func(cx, task any) bool { return cx.(*Context).enter(task.(*Task)) }
	inline.Leave = func(cx, task any) { cx.(*Context).leave(task.(*Task)) }
	inline.Alone = func(cx any, n int) bool { return cx.(*Context).worker.runsAlone(n) }
}

func (cx *Context) enter(t *Task) bool {
	w := cx.worker
	if w.hooked || w.rt.clock.paused || !t.state.enter() {
		return false
	}
	if t.home != nil && t.home != w { // only a run of the task may read home
		if t.state.suspend() {
			w.queueOr(t)
		}
		return false
	}
	if w.events != nil {
		w.note(EventRun, t, 0)
		if w.events.log != nil {
			w.debugEntered(t)
		}
	}
	return true
}

func (cx *Context) leave(t *Task) {
	w := cx.worker
	if w.events != nil {
		w.note(EventRunEnd, t, 0)
	}
	if t.state.suspend() {
		w.queueOr(t)
	}
}

func (w *worker) runsAlone(n int) bool { return w.noOtherIdle() || w.mayKeep(n) }
