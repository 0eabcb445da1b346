package sched

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// tasksPerTick bounds the tasks between two polls of the driver.
const tasksPerTick = 128

// A worker runs tasks on one thread.
type worker struct {
	rt     *Runtime
	index  int
	driver Driver
	parker parker

	inbox struct {
		len atomic.Int64 // of list; read without the lock
		sync.Mutex
		list taskList // tasks woken by other goroutines
	}

	// The worker's goroutine alone:
	cx       Context
	queue    taskList
	ran      bool          // a task has run since wanted was last asked
	yielded  time.Duration // when other goroutines last had a chance to run
	runnable [1]metrics.Sample
}

// inject queues a task from any goroutine.
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
		return
	}
	<-w.rt.started
	cut := true
	defer func() { w.end(cut) }()
	for !w.rt.stopping.Load() {
		if err := w.tick(); err != nil {
			w.rt.fail(fmt.Errorf("sched: worker %d: %w", w.index, err))
			break
		}
	}
	cut = false
}

// end closes the driver. A goroutine that was cut off stops the runtime: its
// tasks would otherwise wait for ever.
func (w *worker) end(cut bool) {
	if cut {
		w.rt.fail(fmt.Errorf("sched: worker %d: a task ended its goroutine (runtime.Goexit)", w.index))
	}
	if err := w.driver.Close(); err != nil {
		w.rt.cfg.Logger.Error("sched: closing a worker's driver", "worker", w.index, "error", err)
	}
}

func (w *worker) tick() error {
	var err error
	if w.queue.head == nil && w.parker.tryPark() {
		err = w.park()
	} else {
		_, err = w.driver.Poll(&w.cx, 0, false)
	}
	if err != nil {
		return err
	}
	w.cx.now = w.rt.Now()
	w.parker.looking()
	if w.inbox.len.Load() > 0 {
		w.inbox.Lock()
		w.queue.pushAll(&w.inbox.list)
		w.inbox.len.Store(0)
		w.inbox.Unlock()
	}
	w.rt.timers.fire(&w.cx)
	w.runTasks()
	w.yield()
	return nil
}

// park waits in the driver: hold first, then block. tryPark has succeeded.
func (w *worker) park() error {
	for w.mayHold() {
		n, err := w.driver.Poll(&w.cx, w.rt.cfg.Hold, true)
		if n > 0 || err != nil || !w.parker.isParked() {
			return err
		}
		if w.rt.Now()-w.cx.now >= w.rt.cfg.Hold { // a hold may end early
			break
		}
	}
	if w.rt.stopping.Load() {
		return nil
	}
	limit := w.untilTimer()
	if limit == 0 {
		return nil
	}
	_, err := w.driver.Poll(&w.cx, limit, false)
	w.yielded = w.rt.Now()
	return err
}

// mayHold reports whether the worker may keep its processor while it waits: not
// with goroutines waiting for one, such as one that a task has just started,
// and not when a timer is due, for which a hold is too rough.
func (w *worker) mayHold() bool {
	hold := w.rt.cfg.Hold
	if hold <= 0 {
		return false
	}
	if w.ran {
		w.ran = false
		if w.wanted() {
			return false
		}
	}
	limit := w.untilTimer()
	return limit < 0 || limit > hold
}

// untilTimer is how long the worker may wait for the sake of timers: worker 0
// sleeps until the next one, the others need not.
func (w *worker) untilTimer() time.Duration {
	if w.index != 0 {
		return -1
	}
	next := w.rt.timers.next.Load()
	if next == never {
		return -1
	}
	return max(0, time.Duration(next)-w.rt.Now())
}

func (w *worker) runTasks() {
	for ran := 0; ran < tasksPerTick; {
		if w.runBatch(&ran) {
			return
		}
	}
}

// runBatch runs tasks until the tick's share is done. A panic that a body let
// escape ends the batch and that task, not the worker.
func (w *worker) runBatch(ran *int) (finished bool) {
	defer func() {
		if finished {
			return
		}
		*ran++
		if v := recover(); v != nil {
			w.rt.cfg.Logger.Error("sched: a task panicked", "worker", w.index, "panic", v, "stack", string(debug.Stack()))
			w.cx.task.state.complete()
		}
	}()
	for ; *ran < tasksPerTick; *ran++ {
		t := w.queue.pop()
		if t == nil {
			break
		}
		t.state.start()
		w.cx.task, w.ran = t, true
		if t.body.Run(&w.cx) {
			t.state.complete()
		} else if t.state.suspend() {
			w.queue.push(t)
		}
	}
	w.cx.task = nil
	return true
}
