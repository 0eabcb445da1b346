package sched

import "sync/atomic"

// A Body is the code of a task.
type Body interface {
	// Run continues the task until it has to wait or is done, and reports whether it is done. It
	// runs on one worker at a time, but not always on the same one. Before it returns false it
	// must have arranged for a wake-up.
	Run(cx *Context) (done bool)
}

// A Survivor is a Body whose task goes on after a run that called runtime.Goexit, for example in a
// user's function. Exited is called after that run, and the task runs once more. The task of any
// other Body ends with such a run.
type Survivor interface {
	Body
	Exited(cx *Context)
}

// A Task is a unit of work that a worker runs when it is woken. Embed it to save an allocation,
// and call Init first. It must not be copied.
type Task struct {
	state     state
	next      *Task // in the list the task is in
	rt        *Runtime
	home      *worker // the only worker that may run it; nil: any
	body      Body
	coroutine *coroutine    // of a stackful task between its first run and its last
	era       atomic.Uint32 // how often the low bits of the generation have wrapped around
	spawned   bool          // the body is an envelope
	long      bool          // its last run was long (long.go); only the worker that runs the task writes this
	probe     uint8         // the number of the probe that times its wait, from 1; 0: none (figures.go)
}

// Init prepares a task that any worker may run. The first Wake starts it.
func (t *Task) Init(rt *Runtime, body Body) { t.rt, t.body = rt, body }

// envelope is the envelope of a spawned task, or nil for another Task.
func (t *Task) envelope() envelope {
	if !t.spawned {
		return nil
	}
	return t.body.(envelope)
}

// Pin ties the task to the worker with that index, modulo Runtime.Workers. Call it between Init
// and the first Wake, or from the running task itself. A task cannot be pinned to a spare worker:
// while a spare runs the task, Pin(cx.Worker()) names one of the other workers.
func (t *Task) Pin(worker int) { t.home = t.rt.worker(worker) }

// Wake makes the task run soon, once for any number of wake-ups before that run. That run sees all
// writes before the call. Any goroutine may call it; on a worker, Context.Wake is cheaper. After
// the task is done, or its runtime has closed, it does nothing.
func (t *Task) Wake() { t.Waker().Wake() }

// WakeOn is Wake with a preferred worker: the one with that index, modulo their number. Another
// worker runs the task if that one is stuck or the task is pinned. Use it to spread incoming
// events over the workers.
func (t *Task) WakeOn(worker int) {
	switch {
	case !t.state.wake(t.generation()):
	case t.home != nil:
		t.rt.probes.fromOutside(t, t.rt)
		t.home.inject(t)
	default:
		t.rt.probes.fromOutside(t, t.rt)
		t.rt.worker(worker).inject(t)
	}
}

// Waker returns a waker of the task.
func (t *Task) Waker() Waker { return Waker{task: t, generation: t.generation()} }

// generation counts the tasks that have used this memory. The caller must know that the task is
// not recycled meanwhile.
func (t *Task) generation() uint64 { return t.generationOf(t.state.word.Load()) }

func (t *Task) generationOf(word uint64) uint64 {
	return uint64(t.era.Load())<<generationBits | word&generationMask
}

// is reports whether the memory may still belong to the task of that generation. The state word
// decides finally.
func (t *Task) is(generation uint64) bool {
	return uint64(t.era.Load()) == generation>>generationBits
}

// renew prepares the memory of a complete task without references for a new task. Wakers of the
// old task are void: before renew because it is complete, after renew by the generation.
func (t *Task) renew(word uint64) {
	generation := (t.state.word.Load() + 1) & generationMask
	if generation == 0 {
		t.era.Add(1)
	}
	t.state.word.Store(word | generation)
}

// schedule queues the task from any goroutine.
func (t *Task) schedule() {
	if t.rt != nil {
		t.rt.probes.fromOutside(t, t.rt)
	}
	switch {
	case t.home != nil:
		t.home.inject(t)
	case t.rt != nil:
		t.rt.inject(t)
	default:
		t.body.(*blocker).signal()
	}
}

// A Waker wakes one task. It may be copied, compared and kept, and used from any goroutine. A
// waker whose task has ended does nothing, and so does the zero value.
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

// Alive reports whether the waker can still wake its task: the task has not ended. A future that
// many tasks wait for can drop the wakers that are not alive. Any goroutine may call it.
func (w Waker) Alive() bool {
	return w.task != nil && w.task.is(w.generation) && w.task.state.isLive(w.generation)
}
