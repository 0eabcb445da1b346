package sched

// What a driver's Poll brings for a task that waits may be so little that to queue the task, have it run, and suspend
// it again is most of what it costs. Such a task may let itself be entered: who takes the completions does that piece of the
// task's work at once, in its place.
//
// That is a run of the task like any other, but for hooks, counts and the context: its state word says that it runs (see state), so
// nobody else does, and what its runs have written is seen. A wake that comes meanwhile has it queued by Leave.

// LetEnter has Context.Enter begin runs of the running task, from now on.
func (t *Task) LetEnter() { t.state.word.Or(enterable) }

// Enter begins a run of a task that has said LetEnter and waits, here and now: until Leave, which is to come soon, the caller
// has all that is only touched by the task's runs. It reports false, and has done nothing, if the task does not
// wait, is pinned to another worker, or somebody wants to know of all runs. It is for a driver in its Poll, and never waits.
func (cx *Context) Enter(t *Task) bool {
	w := cx.worker
	if w.hooked || w.rt.clock.paused || !t.state.enter() {
		return false
	}
	if t.home != nil && t.home != w { // its runs alone may look at that
		cx.Leave(t)
		return false
	}
	return true
}

// Leave ends what Enter has begun. If the task has been woken since, it runs soon.
func (cx *Context) Leave(t *Task) {
	if t.state.suspend() {
		cx.queue(t)
	}
}

// Keeps reports that so many short tasks, woken now, would probably all be run by this worker: either there is no other that has
// nothing to do, or they are not worth its wake-up. What entered work costs is not measured; a driver's Poll bounds it.
func (cx *Context) Keeps(n int) bool {
	w := cx.worker
	return w.noOtherIdle() || w.mayKeep(n)
}
