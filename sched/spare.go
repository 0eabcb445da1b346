package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/procs"
)

// Spares are workers that run tasks and take completions while all other workers are stuck.
//
// A spare is a worker with its own driver. But it is not in idleState: it is never claimed, and
// does not count as searching. While it is out of service it rests in its driver without a limit.
// It then runs only tasks from its driver or its inbox, which belong to connections that it was
// made the home of. While it is in service it also rescues the tasks of stuck workers (monitor.go),
// takes tasks from the global queue, and fires timers. Between two of these checks it rests for a
// moment.
//
// The goroutine that looks for slow tasks (slow.go) decides in each look. A worker counts as stuck
// if it has been within one run of a task since the last look, unless its thread only waits for a
// processor (starved.go). If all workers and all spares in service are stuck, the next spare is
// deployed: one that rests, or else, after makeAfter, a new one. If in recallAfter looks in a row
// some worker was not stuck, all spares are recalled. If in as many looks several spares in
// service were not stuck, the last one of them is recalled.
//
// No deployment is lost. deploy stores deployed and then unparks the spare. The spare announces
// its wait by its parker, and then loads deployed. Both go through the parker's word, so the spare
// sees deployed or is woken. The looks go on while a worker is awake or a spare is in service: see
// looks.
//
// No task is lost at the recall: the tasks that the spare has taken lie in its own queue. It hands
// them over in its next poll (handOver), and runs tasks that it takes later. No completion is lost
// either. A spare passes on the completions that it rescues within one call, under the lock that
// excludes the owner and other rescuers (Driver.taker of package engine).
type spares struct {
	rt    *Runtime
	limit atomic.Int32 // the number of spares that there may be; fixed with the start

	team       atomic.Pointer[[]*worker] // the workers and the spares that have been made, by index
	stuckSince atomic.Int64              // Runtime.Now since which all workers are stuck; never: they are not all stuck
	making     atomic.Bool               // a new spare is making its driver
	retry      atomic.Int64              // Runtime.Now before which no spare is made, because the last attempt failed

	deployments atomic.Uint64
	exhaustions atomic.Uint64

	mu     sync.Mutex // prevents the start of a spare after the end
	raised bool       // GOMAXPROCS is raised, see package procs

	// Runs of tasks that were long and whose run before was long as well. mu guards these:
	longRuns  int
	longSince time.Duration // Runtime.Now of the first such run

	// slowWatch.mu guards these:
	lastStuck    time.Duration // Runtime.Now of the last look that found all workers stuck
	movedLooks   int           // looks in a row in which some worker was not stuck
	surplusLooks int           // looks in a row in which several spares in service were not stuck
	servedLooks  int           // looks in a row in which some worker or spare was not stuck
	exhausted    bool          // all workers and spares are stuck, and that was logged
	loggedAt     time.Duration // Runtime.Now of that log message
}

// A spare is the part of a worker that only spare workers have.
type spare struct {
	deployed atomics.Bool // it is in service
	resting  atomics.Bool // it waits in its driver, or is about to

	// Only its goroutine uses these:
	idleRests   int  // rests in a row after which there was nothing to do
	wasDeployed bool // the value of deployed at the last poll
	untrimmed   bool // it has been in service since it last freed memory
}

const (
	// A server stays responsive with one spare more than there are handlers that block at a time.
	// Each spare that has been deployed costs a thread and a driver.
	defaultSpares = 4

	calmAfter = time.Second // the looks are frequent for this long after all workers were stuck

	recallAfter = 10

	// No new spare is made for a shorter pause, as a machine with too few processors has.
	makeAfter = 2 * time.Millisecond

	// How long a spare in service rests when it finds nothing, and after how many such rests in a
	// row it rests longer.
	restInService = time.Millisecond / 2
	restLonger    = 2 * time.Millisecond
	shortRests    = 20

	// A spare runs a long task only after the workers have been within the same runs for this
	// long. Otherwise tasks that compute would take its processor time from short tasks. The last
	// spare waits longer.
	longPatience = 100 * time.Millisecond
	lastPatience = time.Second

	// So many long runs within this time belong to tasks that compute, and are not the effect of a
	// machine with too few processors.
	manyLong   = 8
	manyWithin = time.Second

	retryAfter    = time.Second // after a failure to make a driver
	exhaustedEach = time.Second // the least time between two log messages that all are stuck
)

func (s *spares) init(rt *Runtime) {
	s.rt = rt
	s.limit.Store(int32(rt.cfg.Spares))
	if !rt.real {
		s.limit.Store(0) // a bubble's time stands still while a task computes
	}
	s.stuckSince.Store(never)
	s.team.Store(&rt.workers)
}

// team is all existing workers by index; spare workers come last.
func (rt *Runtime) team() []*worker { return *rt.spares.team.Load() }

// alone reports that there is one worker and no spare.
func (rt *Runtime) alone() bool { return len(rt.team()) == 1 }

func (w *worker) isSpare() bool { return w.spare != nil }

// isParked reports whether the worker waits in its driver, or is about to.
func (w *worker) isParked() bool {
	if w.spare != nil {
		return w.spare.resting.Load()
	}
	return w.rt.idle.isParked(w.index)
}

// existing is the list of spares that have been made.
func (s *spares) existing() []*worker { return s.rt.team()[len(s.rt.workers):] }

// decide ends a look that has found which workers are stuck. It deploys, makes or recalls spares.
func (s *spares) decide(now time.Duration) {
	if s.limit.Load() == 0 {
		return
	}
	s.recallSurplus()
	since := time.Duration(0)
	for _, w := range s.rt.workers {
		if !s.isStuck(w) {
			s.noteMoved()
			return
		}
		since = max(since, w.slow.stuckSince)
	}
	s.movedLooks, s.lastStuck = 0, now
	s.stuckSince.Store(int64(since))
	var next *worker
	for _, w := range s.existing() {
		switch {
		case s.isStuck(w):
		case w.spare.deployed.Load():
			s.noteServing()
			return
		case next == nil:
			next = w
		}
	}
	switch {
	case next != nil:
		s.servedLooks = 0
		s.deploy(next)
	case s.making.Load(), len(s.existing()) < int(s.limit.Load()) && int64(now) < s.retry.Load():
	case len(s.existing()) < int(s.limit.Load()):
		if s.servedLooks = 0; now-s.blocked() >= makeAfter {
			s.make()
		}
	default:
		s.exhaust(now)
	}
}

// isStuck reports whether the look has found the worker stuck. The call may take 50 µs.
func (s *spares) isStuck(w *worker) bool { return w.slow.stuck && s.rt.slow.occupies(&w.slow.thread) }

// blocked is the time since which all workers and all spares are stuck.
func (s *spares) blocked() (since time.Duration) {
	for _, w := range s.rt.team() {
		since = max(since, w.slow.stuckSince)
	}
	return since
}

// calm reports that no recent look has found all workers stuck. Only the goroutine of the looks
// calls it.
func (s *spares) calm() bool { return s.lastStuck == 0 || s.rt.Now()-s.lastStuck >= calmAfter }

// noteMoved records that not all workers are stuck.
func (s *spares) noteMoved() {
	s.stuckSince.Store(never)
	s.noteServing()
	if s.movedLooks++; s.movedLooks >= recallAfter { // in each further look: a spare may have taken long to be made
		for _, w := range s.existing() {
			w.spare.deployed.Store(false)
		}
	}
}

// recallSurplus recalls the last spare while several in service are not stuck. Otherwise all of
// them would stay as long as all workers are stuck now and then.
func (s *spares) recallSurplus() {
	var last *worker
	serving := 0
	for _, w := range s.existing() {
		if w.spare.deployed.Load() && !w.slow.stuck {
			last, serving = w, serving+1
		}
	}
	if serving < 2 {
		s.surplusLooks = 0
	} else if s.surplusLooks++; s.surplusLooks == recallAfter {
		s.surplusLooks = 0
		last.spare.deployed.Store(false)
	}
}

// noteServing records that a worker or spare is not stuck.
func (s *spares) noteServing() {
	if s.servedLooks++; s.servedLooks == recallAfter {
		s.exhausted = false
	}
}

func (s *spares) deploy(w *worker) {
	s.deployments.Add(1)
	w.spare.deployed.Store(true)
	w.unpark()
}

// exhaust logs that all workers and spares are stuck.
func (s *spares) exhaust(now time.Duration) {
	s.servedLooks = 0
	if s.exhausted {
		return
	}
	s.exhausted = true
	if s.exhaustions.Add(1); s.loggedAt == 0 || now-s.loggedAt >= exhaustedEach {
		s.loggedAt = now
		spares := len(s.existing())
		go s.rt.cfg.Logger.Warn("sched: all workers and all spare workers are stuck in tasks, and nothing else runs until one ends",
			"workers", len(s.rt.workers), "spares", spares) // the looks do not wait for the logger
	}
}

// make starts a new spare, in service.
func (s *spares) make() {
	rt := s.rt
	s.mu.Lock()
	defer s.mu.Unlock()
	if rt.stopping.Load() {
		return
	}
	s.raise()
	s.making.Store(true)
	rt.slow.looks.endRest()
	w := newWorker(rt, len(rt.team()))
	w.spare = new(spare)
	w.spare.deployed.Store(true)
	rt.running.Add(1)
	rt.looping.Add(1)
	go w.runAsSpare()
}

// raise raises GOMAXPROCS if that has not been done. s.mu is held.
func (s *spares) raise() {
	if !s.raised {
		s.raised = true
		procs.Raise(s.rt, int(s.limit.Load()))
	}
}

// raiseEarly is called after a long run of a task whose last run was long as well. Tasks that
// compute keep all of Go's processors. Then the goroutine that looks for stuck workers does not run
// for 10 ms or more, and finds each worker in another run each time. So raiseEarly raises
// GOMAXPROCS for the spares before all workers are stuck.
func (s *spares) raiseEarly(now time.Duration) {
	if s.limit.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raised || s.rt.stopping.Load() {
		return
	}
	if now-s.longSince > manyWithin {
		s.longRuns, s.longSince = 0, now
	}
	if s.longRuns++; s.longRuns == manyLong {
		s.raise()
	}
}

// stop makes the workers stop, and prevents the start of further spares. The workers have not seen
// that yet, so the groups that count workers do not become empty before.
func (s *spares) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rt.stopping.Store(true)
}

// end is called when all workers have ended.
func (s *spares) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raised {
		procs.Lower(s.rt)
	}
}
