package sched

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// tasksPerTick bounds the tasks between two polls of the driver.
const tasksPerTick = 128

// A worker runs tasks, on a thread of its own if it has a driver. What a task's run queues goes to this
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
	lifo   atomics.Pointer[Task] // what the running task has woken last: its data is still in the cache
	urgent atomic.Bool           // queue holds tasks that no I/O woke: others are to take them however few
	cost   atomic.Int64          // average nanoseconds of a task's run
	tickAt atomic.Int64          // Runtime.Now when the tick began
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
	yields    bool          // the running task yields
	woken     bool          // it has woken itself: no need to tell its state, which others look at
	searching bool          // counted by idle
	late      bool          // now is that of an earlier tick
	gaveWay   bool          // the last poll has let other goroutines run, and did not wait
	owesWay   bool          // it has run tasks since it last let other goroutines run, which costs it little
	wasParked bool          // until the tick that follows
	lifoRuns  int           // tasks run from lifo since the last from elsewhere
	pinnedDue bool          // pinned goes before queue
	adapt     adaptive
	busy      busyPoller
	long      longTasks
	post      post
	inPlace   inPlace
	random    uint64
	stacks    coroutines
	depots    depotCache
	count     WorkerStats   // published now and then
	hooked    bool          // there are hooks for the runs of tasks
	ran       bool          // a task has run since wanted was last asked
	asked     time.Duration // when wanted was last asked
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
	w.busy.hits = 1
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
	if w.rt.cfg.ownThreads {
		// Never unlocked: the thread ends with the goroutine, and with it whatever
		// the driver tied to the thread.
		runtime.LockOSThread()
	}
	if !w.makeDriver(ready) {
		return
	}
	<-w.rt.started
	defer w.end()
	w.loop(false)
}

// makeDriver reports on ready. A NewDriver that panics, or ends the goroutine, has failed.
func (w *worker) makeDriver(ready chan<- error) (ok bool) {
	err := ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if ok = err == nil; !ok {
			err = fmt.Errorf("sched: the driver of worker %d: %w", w.index, err)
			w.rt.looping.Done()
		}
		ready <- err
	}()
	if w.driver, err = w.rt.cfg.NewDriver(w.index); err == nil && w.driver == nil {
		err = errors.New("it returned neither a driver nor an error")
	}
	return
}

// loop ticks until the runtime stops. A function of others that ends the goroutine
// (runtime.Goexit) cannot be stopped from that, but while the goroutine's
// deferred calls run it is alive: the worker goes on in one of them. exited says that it
// does; to end the task that has exited may exit again.
func (w *worker) loop(exited bool) {
	ended := false
	defer func() {
		if !ended {
			w.loop(true)
		}
	}()
	if exited && !w.survive() {
		ended = true
		return
	}
	if !exited {
		call(w.rt.cfg.Hooks.WorkerStart, w.index)
	}
	for !w.rt.stopping.Load() {
		if err := w.tick(); err != nil {
			w.rt.fail(fmt.Errorf("sched: worker %d: %w", w.index, err))
			break
		}
	}
	ended = true
}

// survive makes a task's exit that task's error; false: it was none of a task.
func (w *worker) survive() bool {
	t := w.cx.task
	if t == nil && w.running {
		w.running, w.long.turn = false, false
		w.rt.cfg.Logger.Error("sched: a hook or a Releaser ended its goroutine (runtime.Goexit)", "worker", w.index)
		return true
	}
	if t == nil {
		w.rt.fail(fmt.Errorf("sched: worker %d: its driver or a hook ended the goroutine (runtime.Goexit)", w.index))
		return false
	}
	w.crash(t, ErrGoexit)
	w.running, w.long.turn = false, false
	return true
}

// end is the last thing the worker does. The tasks it leaves in its queues are
// ended by the runtime. Each step comes even if one before it ends the goroutine.
func (w *worker) end() {
	defer w.stacks.closeExited() // last: it may end the goroutine
	defer w.closeDriver()
	defer func() {
		w.rt.looping.Done()
		w.rt.looping.Wait()
		w.publish()
		call(w.rt.cfg.Hooks.WorkerStop, w.index)
	}()
	w.gone.Store(true)
	w.inbox.Lock() // who looks through it (relieveInbox) either has done so, or sees that the worker has gone
	w.inbox.list = taskList{}
	w.inbox.Unlock()
	w.stacks.close()
}

func (w *worker) closeDriver() {
	if err := w.driver.Close(); err != nil {
		w.rt.cfg.Logger.Error("sched: closing a worker's driver", "worker", w.index, "error", err)
	}
}

func (w *worker) tick() error {
	w.late = true // for whom the driver calls
	n, err := w.poll()
	if err != nil {
		return err
	}
	w.parker.looking()
	w.drainInbox()
	if w.late = w.mayBeLate(); !w.late {
		w.now = w.rt.Now() // not before: a task that a timer has sent here is not to find itself too early
		w.tickAt.Store(int64(w.now))
	}
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
	w.long.lastRun = w.now
	if ran := w.runTasks(tasksPerTick); ran > 0 {
		w.owesWay = !w.rt.cfg.ownThreads
		w.adapt.measure(w, ran)
	}
	w.look()
	if w.longDue() {
		err = w.runLong()
	}
	w.yield()
	return err
}

// mayBeLate reports whether the tick can go without reading the clock, which costs as
// much as a part of a short one: as most of those can that come when others had been
// given way, with no timer to look after. A task that asks for the time has it read.
func (w *worker) mayBeLate() bool {
	return w.gaveWay && w.adapt.skipped < lateEvery-1 && !w.long.wary &&
		w.rt.timers.next.Load() == never && !w.rt.clock.paused
}

// poll submits what the last tick queued and takes what has completed. With
// nothing to run it searches for work in others' queues, or parks.
func (w *worker) poll() (int, error) {
	w.gaveWay = false
	switch {
	case w.hasWork(), w.rt.long.len.Load() > 0:
		return w.driver.Poll(&w.cx, 0, false)
	case w.mayFind():
		n, err := w.driver.Poll(&w.cx, 0, false)
		if n == 0 && err == nil {
			w.search()
		}
		return n, err
	case w.owesWay:
		// Whoever has been given something to do by the last tasks may be waiting
		// for this processor: it has it at once, and what it wakes is found without
		// parking.
		w.owesWay, w.gaveWay = false, true
		runtime.Gosched()
		return w.driver.Poll(&w.cx, 0, false)
	default:
		return w.park()
	}
}
