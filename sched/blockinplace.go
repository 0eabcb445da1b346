package sched

// BlockInPlace calls fn, which may block the worker: a call into C, a lock of a library, a long
// computation. Before the call, the worker hands its queued tasks to the other workers, and also
// the duty to wake up for the next timer. (Tokio's block_in_place.) It returns when fn returns. An
// abort does not interrupt fn: pass the task's context to what fn calls.
//
// Unlike Tokio's it starts no thread to replace the worker: until fn returns, the runtime has one
// worker less. Other workers take the completions of its driver, after 1 to 10 ms. If all workers
// are in such a call or in another long task, spare workers do: see Config.Spares.
//
// Tasks that are bound to the worker wait until fn returns: tasks with Task.Pin, and on workers
// that are locked to their threads (see Go) stackful tasks that have run. The functions of
// sequential handlers are such tasks. fn must not wait for one of them, and must not call Await.
// If all workers and all spare workers are in such calls, everything waits. Package blocking has
// no such limits. BlockInPlace is for calls that the task itself must make, and costs no switch.
//
// Runtime.Busy reports the worker as it reports any other worker in a long task. The time of fn
// does not count for Config.SlowTask. In a goroutine, and with the context of another task,
// BlockInPlace just calls fn. In fn, calls that wait with an ordinary context do wait: see
// ErrBlocksWorker.
func (cx *Context) BlockInPlace(fn func()) {
	w := cx.here()
	if w == nil {
		fn()
		return
	}
	if cx.defers {
		cx.coroutine.runDeferred()
	}
	if len(w.rt.workers)+w.rt.cfg.Spares > 1 {
		w.handOver()
	}
	outer := w.mayBlock
	w.mayBlock = true
	defer func() { w.mayBlock = outer }()
	if w.slow.inPlace.Load() { // an outer call counts the time
		fn()
		return
	}
	began := w.rt.Now()
	w.slow.inPlace.Store(true)
	defer func() {
		w.slow.inPlace.Store(false)
		w.slow.back = w.rt.Now()
		w.slow.away += w.slow.back - began
	}()
	fn()
}

// outsideRun marks the worker as stuck if the following call of a user's function takes long. The
// function belongs to no run of a task, such as Hooks.TaskEnd, so no task is reported as slow. The
// mark lasts until the caller calls back. cx may be nil.
func (cx *Context) outsideRun() (back func()) {
	if cx == nil || cx.worker == nil || cx.worker.slow.inPlace.Load() {
		return func() {}
	}
	inPlace := &cx.worker.slow.inPlace
	inPlace.Store(true)
	return func() { inPlace.Store(false) }
}

// handOver moves the tasks that others may run to the global queue, and wakes a parked worker.
// That worker looks for the tasks. If this worker is the keeper of the timers, the other one
// becomes the keeper when it parks.
func (w *worker) handOver() {
	var all taskList
	for _, t := range []*Task{w.first, w.lifo.Swap(nil)} {
		if t != nil {
			all.push(t)
		}
	}
	w.first = nil
	for _, r := range []*ring{&w.batch, &w.queue} {
		for t := r.pop(); t != nil; t = r.pop() {
			all.push(t)
		}
	}
	if all.head != nil {
		w.rt.global.pushBatch(&all)
	}
	w.rt.notify()
}
