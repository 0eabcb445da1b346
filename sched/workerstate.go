package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/dumptext"
)

// A WorkerState is what a worker does at one moment: see Runtime.WorkerStates.
type WorkerState struct {
	Worker   int
	Spare    bool // it is a spare worker
	Deployed bool // it is a spare worker in service
	Ended    bool
	Parked   bool          // it waits for work
	Runs     bool          // it runs a task
	Handler  string        // of that task, as in SlowTask; of tasks of Spawn and Go ""
	Peer     string        // of that task, as in SlowTask
	For      time.Duration // about how long the run has lasted
	Queued   int           // tasks in its queues
}

// WorkerStates returns what each worker does now, by index, existing spare workers included. It
// stops nobody and works while workers are stuck. Any goroutine may call it.
func (rt *Runtime) WorkerStates() []WorkerState {
	var text dumptext.Text
	now := rt.Now()
	team := rt.team()
	all := make([]WorkerState, len(team))
	for i, w := range team {
		s := WorkerState{Worker: w.index, Spare: w.isSpare(), Ended: w.gone.Load(), Parked: w.isParked()}
		s.Deployed = s.Spare && w.spare.deployed.Load()
		s.Queued = w.queue.len() + w.batch.len() + int(w.inbox.len.Load())
		if t := rt.runs(w); t != nil && !s.Ended && !s.Parked {
			s.Runs, s.For = true, w.runTime(now)
			s.Handler, s.Peer = w.runNames(&text, t, "")
		}
		all[i] = s
	}
	return all
}

// PendingTimers returns how many timers are pending, and the time until the first one is due. With
// no timer, next is negative. Any goroutine may call it.
func (rt *Runtime) PendingTimers() (n int, next time.Duration) {
	ts := &rt.timers
	ts.mu.Lock()
	defer ts.mu.Unlock()
	n = ts.wheel.Len()
	tick, ok := ts.wheel.Earliest()
	if !ok {
		return n, -1
	}
	return n, max(0, time.Duration(tick)*time.Millisecond-rt.Now())
}
