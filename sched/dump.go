package sched

import (
	"io"
	"runtime"
	"time"

	"github.com/suiro-go/suiro/internal/dumptext"
)

// Dump writes a report of what the runtime does now, for people who look into a hang. It names each
// worker, the task that it runs, since when, and that task's stack. It counts the tasks in the
// queues, timers and spare workers. Tasks that wait are grouped by the call or the future that they
// wait in.
//
// Dump works while all workers are stuck: it waits only for a moment for locks, and writes "busy"
// for what they guard. The stacks stop the world, for some microseconds for each goroutine. The
// text has no fixed form. Any goroutine may call Dump, and tasks. The error is that of w.
func (rt *Runtime) Dump(w io.Writer) error {
	var text dumptext.Text
	rt.dump(&text)
	_, err := w.Write(text.Bytes())
	return err
}

const (
	mostDumpStacks  = 16 << 20 // bytes of the stacks of all goroutines
	mostStackLines  = 60       // of one stack
	mostWaitsListed = 30       // groups of tasks that wait
)

func (rt *Runtime) dump(text *dumptext.Text) {
	now := rt.Now()
	state := "runs"
	switch {
	case rt.isOver():
		state = "has ended"
	case rt.stopping.Load():
		state = "stops"
	case rt.drain.on.Load():
		state = "shuts down"
	}
	s := &rt.spares
	text.Linef(0, "runtime: %s for %v, %d workers of %d parked, %d searching, %d goroutines", state, now.Round(time.Millisecond),
		rt.idle.parked(), len(rt.workers), rt.idle.searching.Load(), runtime.NumGoroutine())
	text.Linef(1, "queues: global %d, long tasks %d", rt.global.len.Load(), rt.long.len.Load())
	text.Linef(1, "spare workers: %d of %d made, %d deployments, all were stuck %d times", len(s.existing()), s.limit.Load(),
		s.deployments.Load(), s.exhaustions.Load())
	rt.dumpTimers(text, now)
	coroutines, whole := rt.coroutinesNow(text)
	stacks := newStackTexts(mostDumpStacks, coroutines)
	for _, w := range rt.team() {
		w.dump(text, stacks, now)
	}
	if !whole {
		text.Linef(1, "coroutines: some are not listed: busy")
	}
	rt.dumpWaits(text, stacks)
}

func (rt *Runtime) isOver() bool {
	select {
	case <-rt.stopped:
		return true
	default:
		return false
	}
}

func (rt *Runtime) dumpTimers(text *dumptext.Text, now time.Duration) {
	ts := &rt.timers
	if !text.Lock(&ts.mu) {
		text.Linef(1, "timers: busy")
		return
	}
	n := ts.wheel.Len()
	tick, ok := ts.wheel.Earliest()
	ts.mu.Unlock()
	if !ok {
		text.Linef(1, "timers: %d", n)
		return
	}
	text.Linef(1, "timers: %d, the next one in %v", n, (time.Duration(tick)*time.Millisecond - now).Round(time.Millisecond))
}

// dump describes the worker, and the task that it runs.
func (w *worker) dump(text *dumptext.Text, stacks *stackTexts, now time.Duration) {
	kind := "worker"
	if w.isSpare() {
		kind = "spare worker"
		if w.spare.deployed.Load() {
			kind = "spare worker in service"
		}
	}
	lifo := 0
	if w.lifo.Load() != nil {
		lifo = 1
	}
	queues := []any{w.queue.len(), w.batch.len(), lifo, w.inbox.len.Load()}
	const format = "queue %d, batch %d, lifo %d, inbox %d"
	t := w.rt.runs(w)
	switch {
	case w.gone.Load():
		text.Linef(1, "%s %d: has ended", kind, w.index)
		return
	case w.isParked():
		text.Linef(1, "%s %d: parked; "+format, append([]any{kind, w.index}, queues...)...)
		return
	case t == nil:
		text.Linef(1, "%s %d: between two runs; "+format, append([]any{kind, w.index}, queues...)...)
		return
	}
	stack := stacks.ofRun(w, t)
	text.Linef(1, "%s %d: %s for %v; "+format, append([]any{kind, w.index, w.runName(text, t, stack), w.runTime(now)}, queues...)...)
	text.Block(3, stack, mostStackLines)
}

// runName names the task that the worker runs.
func (w *worker) runName(text *dumptext.Text, t *Task, stack string) string {
	handler, peer := w.runNames(text, t, stack)
	if handler == "" {
		handler = "a task"
	}
	if peer != "" {
		handler += " (" + peer + ")"
	}
	if w.slow.inPlace.Load() {
		handler += ", in BlockInPlace or a hook,"
	}
	return "runs " + handler
}

// runNames describes the task that the worker runs, if the locks of its description are free.
func (w *worker) runNames(text *dumptext.Text, t *Task, stack string) (handler, peer string) {
	names := make(chan [2]string, 1)
	if !text.Call(func() {
		handler, peer := t.describe(stack)
		names <- [2]string{handler, peer}
	}) {
		return "a task (busy)", ""
	}
	n := <-names
	return n[0], n[1]
}

// runTime is about how long the run has lasted. The looks know a lower bound. Without them it is
// the time since the tick began.
func (w *worker) runTime(now time.Duration) time.Duration {
	began := time.Duration(w.tickAt.Load())
	if rt := w.rt; rt.slow.looks.calm > 0 && w.slow.acked.Load() != rt.slow.beat.Load() && !w.slow.inPlace.Load() {
		began = max(began, time.Duration(w.slow.since.Load()))
	}
	return max(0, now-began).Round(time.Millisecond / 10)
}
