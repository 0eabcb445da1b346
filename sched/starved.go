package sched

import (
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/cputime"
)

// On a machine with too few processors, or in a container that has used up its CPU quota, a run
// may last long because its thread does not get to run. Then the task itself does not occupy the
// worker for long. So time in which the worker's thread waited for a processor does not count:
//
//   - It does not make a task long (long.go). After a run that has lasted for longLimit, the
//     worker asks the kernel, and compares the answer with its reading at the last acknowledged
//     beat.
//   - It does not make a worker stuck (spare.go). Each look reads how long the threads have run.
//     Assume that the next look finds a worker within the same run, and its thread has hardly run
//     although it could. Then the thread waits for a processor.
//   - It does not make a run slow (slow.go). The kernel is asked only about a run that has lasted
//     for half of the limit, and again when it may have been slow for the whole limit. Waits
//     before the first question are unknown. A report assumes that all time beyond half of the
//     limit was such a wait: if the first look is late, the goroutine of the looks was starved,
//     too. So that run is reported later, or not at all. The counts leave out only the known
//     waits.
//
// So on a healthy server this costs only some system calls every millisecond.
//
// A worker that is not locked to its thread may change it in a wait. In a run of 10 ms or more it
// may change it when Go preempts the run. And a worker may wait for a processor of Go's (a P):
// then its thread sleeps. So a task may wrongly count as long, a worker as stuck, and a report may
// be late or early.
type threadTime struct {
	// The worker's thread, as of the last beat that it acknowledged. 0: the worker shares threads
	// with other goroutines (Unlocked), or the system does not report on threads.
	id atomic.Int64

	// The kernel's counts for the thread at the last noteThread. Only the worker's goroutine uses
	// it.
	noted cputime.Reading

	// These belong to the run that has lasted since the worker last acknowledged a beat. A look
	// writes them, and slowWatch.mu guards them.

	timed          int64         // the thread that ran belongs to; 0: none
	ran            time.Duration // how long the thread had run before the run, or at the first look of the run
	occupiesWorker bool          // the run has occupied the worker, and not only waited for a processor

	known  bool            // the following fields are set
	from   cputime.Reading // the kernel's counts when it was first asked
	of     int64           // id at that time
	at     time.Duration   // Runtime.Now at that time
	before time.Duration   // how much longer than half of the limit the run had lasted then
	again  time.Duration   // Runtime.Now before which the run cannot be slow
}

// A threadReader reads the kernel's counts of threads. Tests replace it.
type threadReader struct {
	self func() (id int, r cputime.Reading)
	ran  func(id int) (time.Duration, bool)
	of   func(id int) (cputime.Reading, bool)
}

// ranAtMost is how long the thread of a worker that is not stuck may have run, between two looks
// that have found the same run.
const ranAtMost = lookForStuck / 4

// noteThread reads the thread's counts. The worker calls it between two runs.
func (w *worker) noteThread() {
	if w.rt.cfg.holds && !w.rt.clock.paused { // the kernel's clocks do not stand still
		id, r := w.rt.slow.threads.self()
		w.slow.thread.noted = r
		w.slow.thread.id.Store(int64(id))
	}
}

// waited is how long the worker's thread is known to have waited for a processor since the last
// noteThread. The worker calls it after a run, and it calls noteThread. It includes waits before
// that run. So a long task may count as a short one until its next run.
func (w *worker) waited() time.Duration {
	t := &w.slow.thread
	id, from := t.id.Load(), t.noted
	w.noteThread()
	if id == 0 || t.id.Load() != id {
		return 0
	}
	return cputime.Waited(from, t.noted)
}

// timeThread records how long the thread of a worker has run. A look calls it for a worker that is
// neither parked nor within an earlier run.
func (s *slowWatch) timeThread(t *threadTime) {
	if id := t.id.Load(); id != 0 && s.rt.spares.limit.Load() > 0 {
		t.ran, _ = s.threads.ran(int(id))
		t.timed = id
	}
}

// occupies reports whether the run that a look has found occupies the worker: the thread runs, or
// sleeps. Otherwise the thread waits for a processor. A thread whose state is unknown counts as
// occupied.
func (s *slowWatch) occupies(t *threadTime) bool {
	if !t.occupiesWorker {
		t.occupiesWorker = !s.waitsForProcessor(t)
	}
	return t.occupiesWorker
}

func (s *slowWatch) waitsForProcessor(t *threadTime) bool {
	id := t.id.Load()
	if id == 0 || int(id) == cputime.Thread() { // this goroutine runs on that thread, so the worker does not
		return false
	}
	ran, ok := s.threads.ran(int(id))
	if t.timed != id { // the worker was parked at the last look
		t.timed, t.ran = id, ran
	}
	if !ok || ran-t.ran >= ranAtMost {
		return false
	}
	r, ok := s.threads.of(int(id))
	return ok && r.Runnable
}

// isSlow reports whether a run that has lasted for that time is slow, and how much of it the
// thread is known to have waited for a processor.
func (s *slowWatch) isSlow(t *threadTime, now, lasted time.Duration) (waited time.Duration, slow bool) {
	if lasted < s.limit/2 || t.known && now < t.again {
		return 0, false
	}
	id := t.id.Load()
	if id == 0 {
		return 0, lasted >= s.limit
	}
	r, ok := s.threads.of(int(id))
	if !ok {
		return 0, lasted >= s.limit
	}
	if !t.known || t.of != id {
		t.known, t.from, t.of, t.at, t.before = true, r, id, now, lasted-s.limit/2
	}
	waited = min(lasted, cputime.Waited(t.from, r))
	own := lasted - t.before - waited
	t.again = now + s.limit - own
	return waited, own >= s.limit
}

// starved is how long the worker's thread is known to have waited for a processor in the run that
// has just ended and that began at began. It does not include waits in BlockInPlace and before.
func (w *worker) starved(began time.Duration) time.Duration {
	s, t := &w.rt.slow, &w.slow.thread
	s.mu.Lock()
	id, from := t.id.Load(), t.from
	known := id != 0 && t.known && t.of == id && t.at >= max(began, w.slow.back)
	s.mu.Unlock()
	if !known {
		return 0
	}
	if r, ok := s.threads.of(int(id)); ok {
		return cputime.Waited(from, r)
	}
	return 0
}
