package sched

import "time"

// Slow says that tests have to do with fewer rounds.
var Slow bool

// Endless is cfg with waits that nothing but a wake-up or a timer ends, so that a
// wake-up that is lost hangs.
func (cfg Config) Endless() Config { cfg.endless = true; return cfg }

// QueueSize is cfg with workers' queues for so many tasks, a power of two.
func (cfg Config) QueueSize(n int) Config { cfg.queueSize = n; return cfg }

// Batched is the number of tasks in a worker's batch buffer.
func (rt *Runtime) Batched(worker int) int { return rt.workers[worker].batch.len() }

// SetHold changes how long a worker that waits will hold next, HoldOf says it.
func (rt *Runtime) SetHold(worker int, d time.Duration) { rt.workers[worker].adapt.hold = d }
func (rt *Runtime) HoldOf(worker int) time.Duration     { return rt.workers[worker].adapt.hold }

// InOneTick is the first look of Busy; StillBusy is both, with f between them.
func (rt *Runtime) InOneTick(least time.Duration) []Busy { return rt.inOneTick(least) }

func (rt *Runtime) StillBusy(least time.Duration, f func()) []Busy {
	all := rt.inOneTick(least)
	f()
	return rt.stillBusy(all)
}

// Slabs is how many the runtime has for tasks whose result is an int.
func (rt *Runtime) Slabs() int {
	d := depotOf[int](rt)
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.slabs)
}
