package sched

// Hooks are functions that a runtime calls at certain events, for tracing and tests. They run on
// the worker concerned, or on the goroutine that spawns, in the middle of the scheduler's work. So
// they must be quick and must not call into the runtime. Any may be nil.
type Hooks struct {
	WorkerStart  func(worker int) // before its first tick
	WorkerStop   func(worker int) // after its last
	WorkerPark   func(worker int) // it is about to wait in its driver
	WorkerUnpark func(worker int) // its wait has ended

	TaskSpawn     func(id TaskID)
	TaskPollStart func(worker int, id TaskID)
	TaskPollEnd   func(worker int, id TaskID) // not called after a panic or runtime.Goexit
	TaskEnd       func(id TaskID, err error)  // err is the task's result

	// SlowTask is called while a task runs, once its run has lasted for Config.SlowTask, and once
	// for each such run. Unlike the other hooks it runs on a goroutine of its own, or on the
	// goroutine that calls Runtime.Advance. Until it returns, no other slow task is noticed.
	SlowTask func(SlowTask)
}

// A TaskID identifies a spawned task to hooks; 0 is a Task that was not spawned. IDs count spawns
// from 1, and are assigned only while there are hooks.
type TaskID uint64

func (h *Hooks) ofTasks() bool {
	return h.TaskSpawn != nil || h.TaskPollStart != nil || h.TaskPollEnd != nil || h.TaskEnd != nil
}

// identify gives a task its ID and announces it.
func (rt *Runtime) identify(e envelope) {
	id := TaskID(rt.lastID.Add(1))
	e.setID(id)
	if rt.cfg.Hooks.TaskSpawn != nil {
		rt.cfg.Hooks.TaskSpawn(id)
	}
}

func call(hook func(int), worker int) {
	if hook != nil {
		hook(worker)
	}
}

// runHooked runs a task between its hooks.
func (w *worker) runHooked(t *Task) (done bool) {
	var id TaskID
	if e := t.envelope(); e != nil {
		id = e.taskID()
	}
	hooks := &w.rt.cfg.Hooks
	if hooks.TaskPollStart != nil {
		hooks.TaskPollStart(w.index, id)
	}
	if t.coroutine != nil {
		done = t.coroutine.resumeOn(w)
	} else {
		done = t.body.Run(&w.cx)
	}
	if hooks.TaskPollEnd != nil {
		hooks.TaskPollEnd(w.index, id)
	}
	return done
}
