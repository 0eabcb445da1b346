package sched

// For a waiting task, a driver's Poll may have so little work that most of the cost would be to
// queue the task, run it, and suspend it again. Such a task may let itself be entered: the
// goroutine that takes the completions does that piece of the task's work at once, inside Poll.
//
// To the task this is a run like any other, except for hooks, counts and the context. Its state
// word says that it runs (see state). So nobody else runs it, and the writes of its earlier runs
// are visible. If a wake-up arrives meanwhile, Leave queues the task.

// LetEnter allows Context.Enter to begin runs of the running task, from now on.
func (t *Task) LetEnter() { t.state.word.Or(enterable) }

// Enter begins a run of a task that has called LetEnter and waits. Until Leave, which should
// follow soon, the caller may use all data that only the task's runs touch. Enter reports false,
// and has done nothing, if the task does not wait, is pinned to another worker, or there are hooks
// for runs. It is for a driver in its Poll, and never waits. Elsewhere it reports false.
func (cx *Context) Enter(t *Task) bool {
	w := cx.here()
	if w == nil || w.hooked || w.rt.clock.paused || !t.state.enter() {
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

// Leave ends the run that Enter has begun. If the task has been woken since, it runs again soon.
func (cx *Context) Leave(t *Task) {
	w := cx.here()
	if w != nil && w.events != nil {
		w.note(EventRunEnd, t, 0)
	}
	if t.state.suspend() {
		w.queueOr(t)
	}
}

// Keeps reports whether this worker alone would probably run n short tasks that are woken now.
// Either no other worker is idle, or the tasks are not worth its wake-up. The cost of entered work
// is not measured; a driver's Poll bounds it. Elsewhere Keeps is false.
func (cx *Context) Keeps(n int) bool {
	w := cx.here()
	return w != nil && (w.noOtherIdle() || w.mayKeep(n))
}
