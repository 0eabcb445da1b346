package sched

// A Body is what a task does.
type Body interface {
	// Run goes on until the task has to wait or is done, and says which. It
	// runs on one worker at a time. Before it returns false it must have
	// arranged for a wake. It must not call runtime.Goexit (as FailNow of a
	// test does): that ends the worker, and with it the runtime.
	Run(cx *Context) (done bool)
}

// A Task is something a worker runs when it is woken. Embed it to spare an
// allocation, and call Init before anything else. It must not be copied.
type Task struct {
	state state
	next  *Task // in the queue the task is in
	home  *worker
	body  Body
}

// Init prepares a task that runs on the worker with that index, modulo their
// number. The first Wake starts it.
func (t *Task) Init(rt *Runtime, home int, body Body) {
	t.home = rt.workers[uint(home)%uint(len(rt.workers))] // a counter may have wrapped around to below 0
	t.body = body
}

// Wake has the task run soon, once for any number of wakes that come before it
// does. Any goroutine; on a worker, Context.Wake is cheaper. After the task is
// done, or its runtime closed, it does nothing.
func (t *Task) Wake() {
	if t.state.wake() {
		t.home.inject(t)
	}
}

// Waker is a waker of the task.
func (t *Task) Waker() Waker { return Waker{task: t} }

// A Waker wakes one task. It may be copied and used from any goroutine. The
// zero value wakes nothing.
type Waker struct{ task *Task }

// Wake is Task.Wake.
func (w Waker) Wake() {
	if w.task != nil {
		w.task.Wake()
	}
}

// A taskList is a FIFO queue of tasks linked through them.
type taskList struct {
	head, tail *Task
	len        int
}

func (l *taskList) push(t *Task) {
	t.next = nil
	if l.head == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.len++
}

func (l *taskList) pop() *Task {
	t := l.head
	if t == nil {
		return nil
	}
	if l.head = t.next; l.head == nil {
		l.tail = nil
	}
	t.next = nil
	l.len--
	return t
}

// pushAll moves every task of another list to the end of this one.
func (l *taskList) pushAll(from *taskList) {
	if from.head == nil {
		return
	}
	if l.head == nil {
		l.head = from.head
	} else {
		l.tail.next = from.head
	}
	l.tail = from.tail
	l.len += from.len
	*from = taskList{}
}
