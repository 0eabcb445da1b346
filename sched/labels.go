package sched

import (
	"context"
	"runtime/pprof"
	"slices"
	"strconv"

	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/debuglog"
)

// With SUIRO_DEBUG=labels, profiles tell handlers apart: while a task runs, its goroutine has the
// labels suiro.handler, suiro.listener and suiro.worker (see pprof.SetGoroutineLabels). Sequential
// code has a goroutine of its own, which workers pass on to each other. So it has no suiro.worker.

// labels are the sets of labels of a worker. Only the worker uses them.
type labels struct {
	worker string // "": without that label
	of     map[labeled]context.Context
}

// labeled is what the tasks with one set of labels have in common.
type labeled struct {
	handler  string
	listener string // "": without that label
}

// A listened is a Body that knows at which listener its connection was accepted.
type listened interface {
	// TaskListener is "network address" of the listener, "" without one. The worker that runs the
	// task calls it.
	TaskListener() string
}

// newLabels returns nil unless labels are asked for.
func newLabels(worker string) *labels {
	if !slices.Contains(debuglog.Asked(), debuglog.Labels) {
		return nil
	}
	return &labels{worker, make(map[labeled]context.Context)}
}

// labelWith gives the worker its labels, if they are asked for.
func (w *worker) labelWith() {
	w.labels, w.stackLabels = newLabels(strconv.Itoa(w.index)), newLabels("")
	w.observed = w.observed || w.labels != nil
}

// set labels the current goroutine for the task.
func (l *labels) set(t *Task) {
	var of labeled
	if of.handler, _ = t.describe(""); of.handler == "" {
		of.handler = "task" // of Spawn or Go
	}
	if b, ok := t.body.(listened); ok {
		of.listener = b.TaskListener()
	}
	ctx := l.of[of]
	if ctx == nil {
		set := []string{"suiro.handler", of.handler}
		if of.listener != "" {
			set = append(set, "suiro.listener", of.listener)
		}
		if l.worker != "" {
			set = append(set, "suiro.worker", l.worker)
		}
		ctx = pprof.WithLabels(context.Background(), pprof.Labels(set...))
		l.of[of] = ctx
	}
	pprof.SetGoroutineLabels(ctx)
}

// runLabeled runs a task with labels, and whatever else is observed.
func (w *worker) runLabeled(t *Task) (done bool) {
	w.labels.set(t)
	defer background.Unlabel()
	if w.events != nil {
		return w.runNoted(t)
	}
	return w.runHooked(t)
}
