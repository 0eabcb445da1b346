package sched

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// tasksPerTick bounds the tasks between two polls of the driver.
const tasksPerTick = 128

// A worker runs tasks on one thread. What a task's run queues goes to this
// worker; others take it from there when they have nothing to do (steal.go), or
// when this one is stuck in a task (watch.go).
type worker struct {
	rt     *Runtime
	index  int
	driver Driver

	// What others look at or take from:
	queue  ring // FIFO
	batch  ring // fetched from the global queue; runs before all else
	_      [2]cpu.CacheLinePad
	lifo   atomicTask   // what the running task has woken last: its data is still in the cache
	urgent atomic.Bool  // queue holds tasks that no I/O woke: others are to take them however few
	cost   atomic.Int64 // average nanoseconds of a task's run
	tickAt atomic.Int64 // Runtime.Now when the tick began
	_      [2]cpu.CacheLinePad
	parker parker
	inbox  inbox
	counts publishedCounts
	gone   atomic.Bool // it has left its loop
	_      [2]cpu.CacheLinePad

	// The worker's goroutine alone:
	cx        Context
	now       time.Duration // of the tick
	first     *Task         // stolen, to be run next
	pinned    taskList      // tasks that only this worker may run
	deferred  taskList      // pinned tasks that yielded: they run after the next poll of the driver
	marked    bool          // a task in queue has yielded since the last poll:
	mark      uint32        // tasks from this place on run after the next
	running   bool          // a task is running, so that what is woken is woken by it
	searching bool          // counted by idle
	wasParked bool          // until the tick that follows
	lifoRuns  int           // tasks run from lifo since the last from elsewhere
	pinnedDue bool          // pinned goes before queue
	adapt     adaptive
	post      post
	random    uint64
	stacks    coroutines
	depots    depotCache
	count     WorkerStats   // published now and then
	hooked    bool          // there are hooks for the runs of tasks
	ran       bool          // a task has run since wanted was last asked
	yielded   time.Duration // when other goroutines last had a chance to run
	runnable  [1]metrics.Sample
}

// An inbox takes what is meant for one worker.
type inbox struct {
	len atomic.Int64 // of list; read without the lock
	sync.Mutex
	list taskList
}

func newWorker(rt *Runtime, index int) *worker {
	w := &worker{rt: rt, index: index, random: uint64(index)*0x9e3779b97f4a7c15 + 1}
	w.cx = Context{rt: rt, worker: w}
	w.queue.init(rt.cfg.queueSize)
	w.batch.init(min(batchSize, rt.cfg.queueSize))
	w.hooked = rt.cfg.Hooks.TaskPollStart != nil || rt.cfg.Hooks.TaskPollEnd != nil
	w.adapt.init(w)
	return w
}

// inject gives the worker a task, from any goroutine.
func (w *worker) inject(t *Task) {
	w.inbox.Lock()
	w.inbox.list.push(t)
	w.inbox.len.Store(int64(w.inbox.list.len))
	w.inbox.Unlock()
	w.unpark()
}

func (w *worker) unpark() {
	if w.parker.unpark() {
		w.driver.Wake()
	}
}

// run is the worker's goroutine. It reports on ready once, when the driver is
// there or cannot be.
func (w *worker) run(ready chan<- error) {
	// Never unlocked: the thread ends with the goroutine, and with it whatever
	// the driver tied to the thread.
	runtime.LockOSThread()
	driver, err := w.rt.cfg.NewDriver(w.index)
	w.driver = driver
	ready <- err
	if err != nil {
		w.rt.looping.Done()
		return
	}
	<-w.rt.started
	defer w.end()
	call(w.rt.cfg.Hooks.WorkerStart, w.index)
	w.loop()
}

// loop ticks until the runtime stops. A task that ends the goroutine
// (runtime.Goexit) cannot be stopped from that, but while the goroutine's
// deferred calls run it is alive: the worker goes on in one of them.
func (w *worker) loop() {
	ended := false
	defer func() {
		if !ended && w.survive() {
			w.loop()
		}
	}()
	for !w.rt.stopping.Load() {
		if err := w.tick(); err != nil {
			w.rt.fail(fmt.Errorf("sched: worker %d: %w", w.index, err))
			break
		}
	}
	ended = true
}

// survive makes a task's exit that task's error; false: no task was running.
func (w *worker) survive() bool {
	t := w.cx.task
	if t == nil {
		w.rt.fail(fmt.Errorf("sched: worker %d: a driver, a hook or a Releaser ended the goroutine (runtime.Goexit)", w.index))
		return false
	}
	w.crash(t, ErrGoexit)
	w.running = false
	return true
}

// crash ends a task whose run did not return.
func (w *worker) crash(t *Task, err error) {
	if t.envelope != nil {
		t.envelope.crashed(err)
	} else if p, ok := err.(*PanicError); ok {
		w.rt.cfg.Logger.Error("sched: a task panicked", "worker", w.index, "panic", p.Value, "stack", string(p.Stack))
	} else {
		w.rt.cfg.Logger.Error("sched: a task ended its goroutine", "worker", w.index, "error", err)
	}
	w.complete(t)
}

// end is the last thing the worker does. The tasks it leaves in its queues are
// ended by the runtime.
func (w *worker) end() {
	defer w.stacks.closeExited() // last: it may end the goroutine
	w.gone.Store(true)
	w.stacks.close()
	w.rt.looping.Done()
	w.rt.looping.Wait()
	w.publish()
	call(w.rt.cfg.Hooks.WorkerStop, w.index)
	if err := w.driver.Close(); err != nil {
		w.rt.cfg.Logger.Error("sched: closing a worker's driver", "worker", w.index, "error", err)
	}
}

func (w *worker) tick() error {
	n, err := w.poll()
	if err != nil {
		return err
	}
	w.now = w.rt.Now()
	w.tickAt.Store(int64(w.now))
	w.parker.looking()
	w.drainInbox()
	w.pinned.pushAll(&w.deferred)
	w.marked = false
	w.rt.timers.fire(&w.cx)
	if w.wasParked {
		w.wasParked = false
		if w.searching || w.hasWork() {
			w.toWork()
		}
	}
	if n > 0 {
		w.shareBacklog()
	}
	if ran := w.runTasks(); ran > 0 {
		w.adapt.measure(w, ran)
	}
	w.look()
	w.yield()
	return nil
}

// poll submits what the last tick queued and takes what has completed. With
// nothing to run it searches for work in others' queues, or parks.
func (w *worker) poll() (int, error) {
	switch {
	case w.hasWork():
		return w.driver.Poll(&w.cx, 0, false)
	case w.mayFind():
		n, err := w.driver.Poll(&w.cx, 0, false)
		if n == 0 && err == nil {
			w.search()
		}
		return n, err
	default:
		return w.park()
	}
}

// hasWork reports that there is something to run without searching.
func (w *worker) hasWork() bool {
	return w.first != nil || w.pinned.head != nil || w.deferred.head != nil ||
		w.queue.len() > 0 || w.lifo.Load() != nil || w.batch.len() > 0
}

// drainInbox takes what others gave this worker.
func (w *worker) drainInbox() {
	if w.inbox.len.Load() == 0 {
		return
	}
	w.inbox.Lock()
	list := w.inbox.list
	w.inbox.list = taskList{}
	w.inbox.len.Store(0)
	w.inbox.Unlock()
	w.enqueueAll(&list)
}

// enqueueAll queues a list of tasks.
func (w *worker) enqueueAll(list *taskList) {
	for t := list.pop(); t != nil; t = list.pop() {
		w.enqueue(t)
	}
}

// enqueue puts a task at the end of the worker's queue.
func (w *worker) enqueue(t *Task) {
	switch {
	case t.home == w:
		w.pinned.push(t)
	case t.home != nil: // its run has pinned it elsewhere
		t.home.inject(t)
	case w.queue.push(t, &w.rt.global):
		w.count.Overflows++
		w.rt.notify()
	}
}

// enqueueYielded queues a task that is not to run before the next poll of the
// driver. In the queue others can take it, should this worker get stuck.
func (w *worker) enqueueYielded(t *Task) {
	if t.home == w {
		w.deferred.push(t)
		return
	}
	if !w.marked {
		w.marked, w.mark = true, w.queue.tail.Load()
	}
	if !w.urgent.Load() {
		w.urgent.Store(true)
	}
	w.enqueue(t)
}

// wake queues a task that this worker's goroutine has woken, for the running
// task in lifo: it runs next. What was there has been waiting and goes to the
// queue, where others may take it.
func (w *worker) wake(t *Task) {
	if t.home != nil || !w.running {
		w.enqueue(t)
		return
	}
	if last := w.lifo.Swap(t); last != nil {
		w.enqueue(last)
		w.offer()
	}
}

// offer has others take from the queue, if any have nothing to do.
func (w *worker) offer() {
	if !w.urgent.Load() {
		w.urgent.Store(true)
	}
	w.rt.notify()
}

// next takes the task to run. The order: what was fetched from the global queue,
// lifo (at most maxLIFO times in a row: two tasks that wake each other would
// keep everybody else from running, tokio #5686), then the queues by turns.
func (w *worker) next() *Task {
	if w.adapt.globalDue() {
		w.fetch(fairBatch(int(w.rt.global.len.Load()), len(w.rt.workers)))
	}
	if t := w.first; t != nil {
		w.first = nil
		return t
	}
	if t := w.batch.pop(); t != nil {
		w.lifoRuns = 0
		return t
	}
	if w.lifo.Load() != nil {
		if t := w.lifo.Swap(nil); t != nil {
			if w.lifoRuns < maxLIFO {
				w.lifoRuns++
				w.count.LIFOHits++
				return t
			}
			w.enqueue(t) // where it is found below if there is nothing else
		}
	}
	w.lifoRuns = 0
	w.pinnedDue = !w.pinnedDue
	if w.pinnedDue {
		if t := w.pinned.pop(); t != nil {
			return t
		}
	}
	if !w.marked || w.queue.before(w.mark) {
		if t := w.queue.pop(); t != nil {
			return t
		}
	}
	if t := w.pinned.pop(); t != nil {
		return t
	}
	if w.rt.global.len.Load() > 0 && w.fetch(idleBatch) {
		return w.batch.pop()
	}
	return nil
}

const (
	maxLIFO   = 3
	idleBatch = 32 // tasks fetched from the global queue by a worker that has none
)

// fetch moves tasks from the global queue to the batch buffer.
func (w *worker) fetch(n int) bool {
	var list taskList
	w.rt.global.popBatch(&list, min(n, w.batch.room()))
	if list.head == nil {
		return false
	}
	w.count.BatchFetches++
	w.batch.pushAll(&list)
	return true
}

func (w *worker) runTasks() (ran int) {
	for ran < tasksPerTick {
		if w.runBatch(&ran) {
			break
		}
	}
	w.cx.task, w.running = nil, false
	w.count.Polled += uint64(ran)
	return ran
}

// runBatch runs tasks until the tick's share is done. A panic ends the batch and
// that task, not the worker.
func (w *worker) runBatch(ran *int) (finished bool) {
	defer func() {
		if finished {
			return
		}
		*ran++
		v := recover()
		switch t := w.cx.task; {
		case v == nil: // an exit: see loop
		case t == nil:
			w.rt.cfg.Logger.Error("sched: a hook panicked", "worker", w.index, "panic", v, "stack", string(debug.Stack()))
		default:
			w.crash(t, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	cx := &w.cx
	w.running = true
	for ; *ran < tasksPerTick; *ran++ {
		t := w.next()
		if t == nil {
			break
		}
		if w.searching {
			w.found()
		}
		w.ran = true
		cx.begin(t)
		done := false
		if w.hooked {
			done = w.runHooked(t)
		} else {
			done = t.body.Run(cx)
		}
		if done {
			w.complete(t)
		} else {
			w.suspend(t)
		}
	}
	return true
}

// suspend queues the running task again if it is to run once more.
func (w *worker) suspend(t *Task) {
	if w.cx.deferred {
		w.cx.deferred = false
		t.state.reschedule()
		w.enqueueYielded(t)
	} else if t.state.suspend() {
		w.enqueue(t)
	}
}

func (w *worker) complete(t *Task) {
	w.cx.task, w.cx.deferred = nil, false // what goes wrong from here on is not the task's run
	word := t.state.complete()
	if t.envelope != nil {
		t.envelope.completed(&w.cx, word)
	}
}
