package sched

import (
	"sync"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A drain counts the spawned tasks that Shutdown waits for. Each task is counted at most once: the
// counted bit of its state word says so. The end of a counted task takes it off again. So a drain
// looks at all tasks once, and at none of them when another one ends.
//
// No task is missed. A spawn stores the task's state and then reads on; begin sets on and then
// looks at all tasks. So at least one of them sees the other, and the bit is set once. An end
// either finds the bit, or the task is complete when the bit is to be set: both are changes of the
// same word by compare-and-swap.
//
// left does not become 0 too early. It includes one until begin has looked at all tasks. After that
// each task that has not ended is included. For begin has counted it, or its spawn has, before the
// task that spawned it could end. And left includes a task before the task's bit is set.
type drain struct {
	once sync.Once
	on   atomics.Bool
	left atomics.Int64 // counted tasks that have not ended, and one while begin looks at tasks
	over atomics.Bool  // done is closed, or about to be
	done chan struct{} // closed when left has become 0 for the first time
}

// begin counts the tasks. When it returns they have been counted, also if another goroutine does
// it.
func (d *drain) begin(rt *Runtime) {
	d.once.Do(func() {
		d.left.Add(1)
		d.on.Store(true)
		rt.depots.each(anyDepot.countLiving)
		d.ended()
	})
}

// count counts a task, unless it has been counted or has ended.
func (d *drain) count(t *Task) {
	d.left.Add(1) // first: the task may end as soon as it is marked
	if !t.state.count() {
		d.ended()
	}
}

// ended takes off a task.
func (d *drain) ended() {
	if d.left.Add(-1) == 0 && d.over.CompareAndSwap(false, true) {
		close(d.done)
	}
}
