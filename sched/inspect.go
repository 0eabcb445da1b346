package sched

import "sync"

// Reports read the state of tasks that wait. Only a run of the task may read most of that state. So
// a report makes the task running for a moment, as Context.enter does: its state word keeps workers
// off, and a wake-up that arrives meanwhile queues the task afterward. That costs the task's runs
// nothing.
//
// The end of the runtime does not end a task that runs. So it waits for the report to leave the
// task, and later reports leave all tasks alone.
type inspections struct {
	mu   sync.Mutex // held while a task is inspected
	over bool       // the runtime ends its tasks
}

// Inspect calls f, which may read all that only the task's runs access, and reports whether it did.
// It does not if the task runs or is queued, has ended, or the runtime has. f must return at once,
// and must not wait for a lock. Any goroutine may call Inspect. It is for reports: while f runs,
// the task does not.
func (rt *Runtime) Inspect(t *Task, f func()) bool {
	rt.HoldClock() // a wake-up meanwhile queues nothing
	defer rt.ReleaseClock()
	i := &rt.inspections
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over || !t.state.inspect() {
		return false
	}
	defer func() {
		if t.state.suspend() {
			t.schedule()
		}
	}()
	f()
	return true
}

// end makes later inspections fail.
func (i *inspections) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
}
