package sched

import (
	"cmp"
	"context"
	"runtime/trace"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// An Event is something that a worker did: see Runtime.Events.
type Event struct {
	At     time.Duration // Runtime.Now
	Kind   EventKind
	Worker int    // its index
	Task   uint64 // Task.EventID of the task; 0: the event is not of one task
	N      int    // of EventSteal, EventRescue and EventPoll: how many, at most 65,535
}

// An EventKind is a kind of event.
type EventKind uint8

// The kinds of events.
const (
	EventSpawn  EventKind = iota + 1 // a task on this worker has spawned the task
	EventRun                         // a run of the task begins
	EventRunEnd                      // the run of the task has ended
	EventWake                        // this worker has woken the task, and queues it
	EventSteal                       // N tasks were taken from another worker's queue
	EventPark                        // the worker is about to wait
	EventUnpark                      // its wait has ended
	EventRescue                      // N completions of a stuck worker were taken
	EventPoll                        // the driver had N events
)

var eventNames = [...]string{"", "spawn", "run", "run end", "wake", "steal", "park", "unpark", "rescue", "poll"}

// String returns the name of the kind, such as "run".
func (k EventKind) String() string {
	if int(k) < len(eventNames) && k > 0 {
		return eventNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// EventID names the task in events. No two tasks that live at the same time have the same number.
func (t *Task) EventID() uint64 { return uint64(uintptr(unsafe.Pointer(t))) & (1<<taskBits - 1) }

// Events returns the last events of all workers, in the order of their times. Each worker keeps
// Config.Events of them; without that the result is nil. The workers go on meanwhile: an event that
// is being overwritten is left out. Wake-ups and spawns by other goroutines have no event. The time
// of EventWake is that of the event before it while no task runs, as in a driver's Poll. Any
// goroutine may call Events.
func (rt *Runtime) Events() []Event {
	if rt.cfg.Events <= 0 {
		return nil
	}
	var all []Event
	for _, w := range rt.team() {
		w.events.read(func(_, when, what uint64) {
			all = append(all, Event{
				At: time.Duration(when >> 8), Kind: EventKind(when), Worker: w.index,
				Task: what & (1<<taskBits - 1), N: int(what >> taskBits),
			})
		})
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// note records an event. It is called only with events.
func (w *worker) note(k EventKind, t *Task, n int) {
	r := w.events
	near := r.fresh && k == EventRun || k == EventWake && !w.running // then no clock is read
	if !near {
		r.last = w.rt.Now()
	}
	r.fresh = k == EventRunEnd
	w.write(k, t, n)
}

// noteAt records an event at a time that is known.
func (w *worker) noteAt(at time.Duration, k EventKind, n int) {
	w.events.last, w.events.fresh = at, true
	w.write(k, nil, n)
}

func (w *worker) write(k EventKind, t *Task, n int) {
	task := uint64(0)
	if t != nil {
		task = t.EventID()
	}
	w.events.put(uint64(w.events.last)<<8|uint64(k), uint64(min(n, mostEventN))<<taskBits|task)
	if w.events.log != nil {
		w.debug(k, task, n)
	}
	if trace.IsEnabled() && k != EventRun && k != EventRunEnd {
		trace.Log(context.Background(), "suiro "+k.String(), strconv.Itoa(n))
	}
}

// notePoll records a poll with n events. The tick has just read the clock, or may be late.
func (w *worker) notePoll(n int) {
	if w.nowStale {
		w.note(EventPoll, nil, n)
		return
	}
	w.noteAt(w.now, EventPoll, n)
}

// runObserved runs a task whose runs are hooked or noted as events.
func (w *worker) runObserved(t *Task) (done bool) {
	switch {
	case w.labels != nil:
		return w.runLabeled(t)
	case w.events != nil:
		return w.runNoted(t)
	}
	return w.runHooked(t)
}

// runNoted runs a task whose runs are noted as events.
func (w *worker) runNoted(t *Task) (done bool) {
	if w.events.log != nil {
		w.debugRun(t)
	}
	w.note(EventRun, t, 0)
	defer w.noteRunEnd(t) // deferred, in case the run panics
	if trace.IsEnabled() {
		handler, _ := t.describe("")
		defer trace.StartRegion(context.Background(), cmp.Or(handler, "task")).End()
	}
	return w.runHooked(t)
}

func (w *worker) noteRunEnd(t *Task) { w.note(EventRunEnd, t, 0) }

// RecordsEvents reports whether Config.Events is set.
func (rt *Runtime) RecordsEvents() bool { return rt.cfg.Events > 0 }
