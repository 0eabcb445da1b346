package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/cputime"
)

// Slow says that tests should repeat less.
var Slow bool

// Endless is cfg with waits that only a wake-up or a timer ends, so that a lost wake-up hangs.
func (cfg Config) Endless() Config { cfg.endless = true; return cfg }

// QueueSize is cfg with the size of workers' queues, a power of two.
func (cfg Config) QueueSize(n int) Config { cfg.queueSize = n; return cfg }

// Batched is the number of tasks in a worker's batch buffer.
func (rt *Runtime) Batched(worker int) int { return rt.workers[worker].batch.len() }

// SetHold sets how long a worker's next hold lasts; HoldOf returns that.
func (rt *Runtime) SetHold(worker int, d time.Duration) {
	a := &rt.workers[worker].adapt
	a.hold, a.useful = d, 0
	if d > 0 {
		a.useful = 1
	}
}
func (rt *Runtime) HoldOf(worker int) time.Duration { return rt.workers[worker].adapt.hold }

// InOneTick is the first check of Busy. StillBusy does both checks, and calls f between them.
func (rt *Runtime) InOneTick(least time.Duration) []Busy { return rt.inOneTick(least) }

func (rt *Runtime) StillBusy(least time.Duration, f func()) []Busy {
	all := rt.inOneTick(least)
	f()
	return rt.stillBusy(all)
}

// Slabs is the number of slabs that the runtime has for tasks whose result is an int.
func (rt *Runtime) Slabs() int {
	d := depotOf[int](rt)
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.slabs)
}

// AllRest reports that there are no looks for slow tasks, because nothing runs.
func (rt *Runtime) AllRest() bool { return rt.slow.looks.awake.Load() == 0 }

// LooksSinceStuck is the number of looks in a row that have found a worker that is not stuck.
func (rt *Runtime) LooksSinceStuck() int {
	rt.slow.mu.Lock()
	defer rt.slow.mu.Unlock()
	return rt.spares.movedLooks
}

// ReadThreads replaces the kernel's counts of the workers' threads by the results of read.
func (rt *Runtime) ReadThreads(read func(worker int) (cputime.Reading, bool)) {
	s := &rt.slow
	s.mu.Lock()
	defer s.mu.Unlock()
	s.threads.of = func(id int) (cputime.Reading, bool) { return read(id - 1) }
	for i, w := range rt.workers {
		w.slow.thread.id.Store(int64(i + 1))
	}
}

// FakeThreads replaces the kernel's counts. self is called for the calling worker, and of for
// others. It is for a runtime with a driver that has not been started.
func (rt *Runtime) FakeThreads(self func() (id int, r cputime.Reading), of func(id int) (cputime.Reading, bool)) {
	ran := func(id int) (time.Duration, bool) { r, ok := of(id); return r.Ran, ok }
	rt.slow.threads = threadReader{self, ran, of}
}

// ComputesAt is how long the thread of a stuck worker must have run within a run.
const ComputesAt = ranAtMost

// IsLong reports that the task's last run was long. The task must not run meanwhile.
func (t *Task) IsLong() bool { return t.long }

// Looks is the number of looks since the start.
func (rt *Runtime) Looks() uint32 { return rt.slow.beat.Load() }

// ForgetThreads makes the workers appear as workers without threads of their own.
func (rt *Runtime) ForgetThreads() {
	rt.slow.mu.Lock()
	defer rt.slow.mu.Unlock()
	for _, w := range rt.workers {
		w.slow.thread.id.Store(0)
	}
}

// TaskOf is the task of a handle whose result has not been taken.
func TaskOf[T any](h *JoinHandle[T]) *Task { return &h.cell.task }
