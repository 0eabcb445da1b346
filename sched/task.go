package sched

import "sync/atomic"

// A Body is what a task does.
type Body interface {
	// Run goes on until the task has to wait or is done, and says which. It
	// runs on one worker at a time, not always the same. Before it returns
	// false it must have arranged for a wake.
	Run(cx *Context) (done bool)
}

// A Survivor is a Body that goes on after a run that has ended its goroutine, by
// runtime.Goexit in a user's function. Exited is called after that run, and the task runs
// once more. The task of another Body ends with such a run.
type Survivor interface {
	Body
	Exited(cx *Context)
}

// A Task is something a worker runs when it is woken. Embed it to spare an
// allocation, and call Init before anything else. It must not be copied.
type Task struct {
	state     state
	next      *Task // in the list the task is in
	rt        *Runtime
	home      *worker // the only worker that may run it; nil: any
	body      Body
	coroutine *coroutine    // of a stackful task between its first run and its last
	era       atomic.Uint32 // how often the generation in the state word has wrapped around
	spawned   bool          // the body is an envelope
	long      bool          // its last run was (long.go); whoever runs it writes this
}

// Init prepares a task that any worker may run. The first Wake starts it.
func (t *Task) Init(rt *Runtime, body Body) { t.rt, t.body = rt, body }

// envelope is a spawned task's; nil: the task lies in somebody else's memory.
func (t *Task) envelope() envelope {
	if !t.spawned {
		return nil
	}
	return t.body.(envelope)
}

// Pin has the task run on the worker with that index alone, modulo their
// number. It comes between Init and the first Wake, or from the running task
// itself.
func (t *Task) Pin(worker int) { t.home = t.rt.worker(worker) }

// Wake has the task run soon, once for any number of wakes that come before it
// does. What was done before the call is seen by that run. Any goroutine; on a
// worker, Context.Wake is cheaper. After the task is done, or its runtime
// closed, it does nothing.
func (t *Task) Wake() { t.Waker().Wake() }

// WakeOn is Wake, but the run is to be on the worker with that index, modulo
// their number, unless that one is stuck or the
// task pinned: to spread what comes in over the
// workers.
func (t *Task) WakeOn(worker int) {
	switch {
	case !t.state.wake(t.generation()):
	case t.home != nil:
		t.home.inject(t)
	default:
		t.rt.worker(worker).inject(t)
	}
}

// Waker is a waker of the task.
func (t *Task) Waker() Waker { return Waker{task: t, generation: t.generation()} }

// generation counts the tasks that have had this memory. It is for those who know
// that the task is not recycled meanwhile.
func (t *Task) generation() uint64 { return t.generationOf(t.state.word.Load()) }

func (t *Task) generationOf(word uint64) uint64 {
	return uint64(t.era.Load())<<generationBits | word&generationMask
}

// is reports whether the memory may still be that generation's task: the state word
// has the last say.
func (t *Task) is(generation uint64) bool {
	return uint64(t.era.Load()) == generation>>generationBits
}

// renew makes the memory of a task that is complete, and to which there is no
// reference, that of a new one. Wakers of the old one are void: until now because it
// is complete, from now on by the generation.
func (t *Task) renew(word uint64) {
	generation := (t.state.word.Load() + 1) & generationMask
	if generation == 0 {
		t.era.Add(1)
	}
	t.state.word.Store(word | generation)
}

// schedule queues the task from any goroutine.
func (t *Task) schedule() {
	switch {
	case t.home != nil:
		t.home.inject(t)
	case t.rt != nil:
		t.rt.inject(t)
	default:
		t.body.(*blocker).signal()
	}
}

// A Waker wakes one task. It may be copied, compared and kept, and used from any
// goroutine. One that has outlived its task wakes nothing, nor does the zero
// value.
type Waker struct {
	task       *Task
	generation uint64
}

// Wake is Task.Wake.
func (w Waker) Wake() {
	if w.mustQueue() {
		w.task.schedule()
	}
}

func (w Waker) mustQueue() bool {
	t := w.task
	return t != nil && t.is(w.generation) && t.state.wake(w.generation)
}

// alive reports whether the waker could still wake its task.
func (w Waker) alive() bool {
	return w.task != nil && w.task.is(w.generation) && w.task.state.isLive(w.generation)
}
