package sched

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/goid"
	"github.com/suiro-go/suiro/internal/onworker"
)

// tasksPerTick is the largest number of tasks between two polls of the driver.
const tasksPerTick = 128

// A worker runs tasks. Tasks that a run wakes are queued on the same worker. Other workers take
// them from there when they are idle (steal.go), or when this one is stuck in a task (monitor.go).
type worker struct {
	rt     *Runtime
	index  int
	driver Driver

	goroutine uint64  // its number in the output of runtime.Stack
	id        uintptr // goid.Get of it

	// Other workers read these or take tasks from them:
	queue  ring // FIFO
	batch  ring // fetched from the global queue; runs before all else
	_      [2]cpu.CacheLinePad
	lifo   atomics.Pointer[Task] // the task that the running task has woken last: its data is still in the cache
	urgent atomic.Bool           // queue holds tasks that no I/O woke: others should take even a few of them
	cost   atomic.Int64          // average nanoseconds of a task's run
	tickAt atomic.Int64          // Runtime.Now when the tick began
	slow   slowMark
	_      [2]cpu.CacheLinePad
	parker parker
	inbox  inbox
	counts publishedCounts
	gone   atomic.Bool // it has left its loop
	_      [2]cpu.CacheLinePad

	// Only the worker's goroutine uses these:
	cx          Context
	now         time.Duration // Runtime.Now as of the tick
	first       *Task         // stolen, to be run next
	pinned      taskList      // tasks that only this worker may run
	deferred    taskList      // pinned tasks that yielded: they run after the next poll of the driver
	marked      bool          // a task in queue has yielded since the last poll
	mark        uint32        // if marked: tasks from this place on run after the next poll
	running     bool          // a task is running, so it has woken the tasks that are woken now
	yields      bool          // the running task yields
	woken       bool          // the running task has woken itself; its state word, which others read, need not change
	searching   bool          // counted by idle
	nowStale    bool          // now belongs to an earlier tick
	justYielded bool          // the last poll let other goroutines run, and did not wait
	shouldYield bool          // it has run tasks since it last let other goroutines run, which is cheap for this worker
	lifoRuns    int           // tasks run from lifo in a row
	pinnedDue   bool          // pinned goes before queue
	adapt       adaptive
	meter       meter
	busy        busyPoller
	long        longTasks
	inPlace     inPlace
	mayBlock    bool // a task is in BlockInPlace
	random      uint64
	stacks      stacks
	inLoop      bool // it is counted in Runtime.inLoops
	depots      depotCache
	count       WorkerStats   // published now and then
	spare       *spare        // nil: this is no spare worker
	hooked      bool          // there are hooks for the runs of tasks
	observed    bool          // hooked, or there are events or labels
	labels      *labels       // of SUIRO_DEBUG=labels; nil: none
	stackLabels *labels       // the same for goroutines of sequential code
	events      *eventRing    // nil: events are not recorded
	ran         bool          // a task has run since wanted was last asked
	asked       time.Duration // when wanted was last asked
	yielded     time.Duration // when other goroutines last had a chance to run
	runnable    [1]metrics.Sample
}

// An inbox takes tasks for one worker.
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
	if w.events = newEventRing(rt.cfg.Events); w.events != nil {
		w.events.log = rt.debug
	}
	w.observed = w.hooked || w.events != nil
	w.labelWith()
	w.adapt.init(w)
	w.meter.init()
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

// run is the worker's goroutine. It sends on ready once, when the driver has been made or has
// failed.
func (w *worker) run(ready chan<- error) {
	w.settle()
	defer onworker.Leave()
	if !w.makeDriver(ready) {
		return
	}
	<-w.rt.started
	w.inLoop = true
	defer w.end()
	w.loop(false)
}

// settle prepares the worker's goroutine. It is called first.
func (w *worker) settle() {
	background.Unlabel()
	if w.rt.cfg.locked {
		// Never unlocked: the thread ends with the goroutine, and so do the resources that the
		// driver tied to the thread.
		runtime.LockOSThread()
	}
	w.noteThread()
	onworker.Enter(w)
	w.id, w.goroutine = goid.Get(), goid.Number()
}

// makeDriver sends its error on ready. A NewDriver that panics, or exits the goroutine, has
// failed.
func (w *worker) makeDriver(ready chan<- error) (ok bool) {
	err := ErrGoexit
	defer func() {
		if ok = err == nil; !ok {
			err = fmt.Errorf("sched: the driver of worker %d: %w", w.index, err)
			w.rt.looping.Done()
		}
		ready <- err
	}()
	if p := try(func() { w.driver, err = w.rt.cfg.NewDriver(w.index) }); p != nil {
		err = p
	} else if err == nil && w.driver == nil {
		err = errors.New("it returned neither a driver nor an error")
	}
	return
}

// loop ticks until the runtime stops. If a user's function exits the goroutine (runtime.Goexit),
// that cannot be stopped. But the goroutine is alive while its deferred calls run, so the worker
// goes on in one of them. exited is true in that case; ending the task that has exited may exit
// again.
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

// survive makes a runtime.Goexit the error of the task that called it. false: the worker cannot go
// on.
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

// end is the last call of the worker's goroutine. The runtime ends the tasks that are left in its
// queues. Each step runs even if an earlier one exits the goroutine.
func (w *worker) end() {
	defer w.stacks.endExited() // last, because it may exit the goroutine
	defer w.closeDriver()
	defer func() {
		w.rt.looping.Done()
		w.rt.looping.Wait()
		w.publish()
		call(w.rt.cfg.Hooks.WorkerStop, w.index)
	}()
	w.gone.Store(true)
	w.inbox.Lock() // rescueInbox, in another worker, has either finished or sees that this worker has gone
	w.inbox.list = taskList{}
	w.inbox.Unlock()
	w.endStacks()
}

func (w *worker) closeDriver() {
	if err := w.driver.Close(); err != nil {
		w.rt.cfg.Logger.Error("sched: closing a worker's driver", "worker", w.index, "error", err)
	}
}

func (w *worker) tick() error {
	w.nowStale = true // for the tasks and functions that the driver calls
	w.meter.fresh = false
	n, err := w.poll()
	if err != nil {
		return err
	}
	w.countPoll(n)
	w.parker.looking()
	w.drainInbox()
	if w.nowStale = w.nowMayBeStale(); !w.nowStale {
		w.now = w.rt.Now() // not before: a task that a timer has sent here must not find that it is early
		w.tickAt.Store(int64(w.now))
		w.acknowledge()
		w.endIdle()
	}
	if w.events != nil && n > 0 {
		w.notePoll(n)
	}
	w.pinned.pushAll(&w.deferred)
	w.marked = false
	w.rt.timers.fire(&w.cx)
	if n > 0 {
		w.shareQueue()
	}
	w.timesFrom(w.now, 0)
	w.slow.startUnknown = w.nowStale
	if ran := w.runTasks(tasksPerTick); ran > 0 {
		w.shouldYield = !w.rt.cfg.holds
		w.adapt.measure(w, ran)
	}
	w.maybeRescue()
	if w.longDue() {
		err = w.runLong()
	}
	w.yield()
	return err
}

// nowMayBeStale reports whether the tick may skip reading the clock, which costs as much as a part
// of a short tick. It may if the worker has just let other goroutines run, and there is no timer.
// Most such ticks are short. If a task asks for the time, the clock is read.
func (w *worker) nowMayBeStale() bool {
	return w.justYielded && w.adapt.skipped < lateEvery-1 && !w.long.timing && !w.hasNewBeat() &&
		w.rt.timers.next.Load() == never && !w.rt.clock.paused
}

// poll submits the I/O that the last tick queued, and takes completions. A worker without tasks
// searches for work in others' queues, or parks.
func (w *worker) poll() (int, error) {
	w.justYielded = false
	switch {
	case w.isSpare():
		return w.pollAsSpare()
	case w.hasWork(), w.hasLong():
		return w.driver.Poll(&w.cx, 0, false)
	case w.mayFind():
		n, err := w.driver.Poll(&w.cx, 0, false)
		if n == 0 && err == nil {
			w.search()
		}
		return n, err
	case w.shouldYield:
		// A goroutine that the last tasks have woken may be waiting for this processor. It gets
		// the processor at once, and the tasks that it wakes are found without parking.
		w.shouldYield, w.justYielded = false, true
		runtime.Gosched()
		return w.driver.Poll(&w.cx, 0, false)
	default:
		return w.park()
	}
}
