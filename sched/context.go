package sched

import "time"

// A Context is what a running task knows of the world: Go has no thread-locals,
// so it is passed. It is valid until Run or Poll returns, on that goroutine.
type Context struct {
	worker *worker
	task   *Task
	now    time.Duration
}

// Runtime is the runtime the task runs in.
func (cx *Context) Runtime() *Runtime { return cx.worker.rt }

// Worker is the index of the worker that runs the task, from 0.
func (cx *Context) Worker() int { return cx.worker.index }

// Driver is that worker's driver.
func (cx *Context) Driver() Driver { return cx.worker.driver }

// Now is the runtime's time (see Runtime.Now) as of the worker's current tick:
// good to well under a millisecond as long as tasks are short, and free.
func (cx *Context) Now() time.Duration { return cx.now }

// Waker wakes the running task.
func (cx *Context) Waker() Waker { return Waker{task: cx.task} }

// Wake is t.Wake from a worker: one whose home is this worker is queued without
// a lock.
func (cx *Context) Wake(t *Task) {
	if !t.state.wake() {
		return
	}
	if t.home == cx.worker {
		cx.worker.queue.push(t)
	} else {
		t.home.inject(t)
	}
}

func (cx *Context) spawn(t *Task, body Body) error {
	t.Init(cx.worker.rt, cx.worker.index, body)
	cx.Wake(t)
	return nil
}
