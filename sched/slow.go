package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/cputime"
)

// SlowTask describes a run of a task that has lasted for Config.SlowTask or longer.
type SlowTask struct {
	Worker int           // the index of the worker
	For    time.Duration // how long the run has lasted, or up to half of Config.SlowTask less

	// Waited is how long, of For, the worker's thread is known to have waited for a processor,
	// because the machine has too few. For minus Waited is at least Config.SlowTask. Waited is
	// known on Linux, for workers with a Driver that are not Unlocked, and counts from half of
	// Config.SlowTask on. Otherwise it is 0. If the worker is not locked to its thread, Waited is
	// an estimate: a long run may change threads.
	Waited time.Duration

	// Handler names the code: the type of a connection's handler, the function of a sequential
	// handler, or the type of another Body. For a task of Spawn or Go the name comes from Stack;
	// without a Stack it is "".
	Handler string
	Peer    string // the remote address of a connection; "" if there is none

	// Stack is the stack of the task's goroutine, in the format of debug.Stack. To take it stops
	// the world for some microseconds per goroutine. So it is taken at most once a second, and not
	// with more than 1000 goroutines. Otherwise it is "".
	Stack string
}

// A Describer is a Body that provides names for reports of slow tasks. Another goroutine calls
// DescribeTask while the task runs. So DescribeTask may read data that a run writes only under a
// lock. The slow runs of a Body with a method RunsOwnCode that returns true are counted, and not
// reported: they call no function of the user.
type Describer interface {
	Body
	DescribeTask() (handler, peer string)
}

// A slowWatch notices runs of tasks that last for limit or longer, while they last. Its goroutine
// checks all workers now and then: see looks. Each such check is called a look. It costs a worker
// one store and one load for each run of a task. A look also wakes a parked worker for one that is
// stuck (monitor.go), and decides about spare workers (spare.go).
//
// The beat counts the looks: a look ends with a new beat. A worker acknowledges the beat, by
// storing it in acked, when it begins a tick and when a run has ended. So acked does not change
// within a run. A look may find a worker that is not parked and has not acknowledged the last
// beat. Then the worker has ended no run since that beat. since is the time of the first beat that
// the worker has not acknowledged. So no run is reported before it has lasted for limit. No run is
// reported twice, since reported is cleared only after acked has changed. A worker measures each
// run that ends after an unacknowledged beat. If reported is set then, it belongs to this run,
// since a look that finds the beat acknowledged clears it. So every reported run is counted.
//
// Time in which the worker's thread waited for a processor does not count (starved.go).
//
// With a paused clock there is no goroutine: Advance looks before and after it moves the clock.
type slowWatch struct {
	rt    *Runtime
	limit time.Duration // 0: the watch is off

	_    [2]cpu.CacheLinePad
	beat atomic.Uint32
	_    [2]cpu.CacheLinePad

	looks looks
	stuck bool // the last look found a stuck worker

	mu      sync.Mutex // held during a look
	reports slowReports

	handlers slowHandlers

	threads threadReader
	telling atomic.Bool // reports are being made; until they end, no further slow runs are reported
}

// slowMark is a worker's part of the watch.
type slowMark struct {
	acked   atomic.Uint32        // the last beat that the worker has acknowledged
	since   atomic.Int64         // Runtime.Now at the first beat after acked; a look writes it
	shown   atomic.Pointer[Task] // the task that runs, or ran last
	inPlace atomic.Bool          // the run is in BlockInPlace, or the worker is in outsideRun
	thread  threadTime           // how long the worker's thread waits for a processor

	// The current run was reported. A look writes this before the next beat.
	reported atomic.Bool
	name     atomic.Pointer[slowName] // of that run; nil: not named yet, or not remembered

	// Only the worker's goroutine uses these:
	beat         uint32        // a copy of acked
	ran          int           // runs of this tick that had ended at longTasks.lastRun
	away         time.Duration // time in BlockInPlace since longTasks.lastRun
	back         time.Duration // when the last BlockInPlace ended
	startUnknown bool          // lastRun belongs to an earlier tick, because this tick has not read the clock

	// slowWatch.mu guards these:
	stuck      bool          // in the last look, the worker was within one run since the look before
	stuckSince time.Duration // Runtime.Now of the first look in a row that found the worker stuck
}

const (
	defaultSlowTask = 10 * time.Millisecond
	leastSlowTask   = time.Millisecond
)

func (s *slowWatch) init(rt *Runtime) {
	s.rt, s.limit = rt, rt.cfg.SlowTask
	s.threads = threadReader{cputime.Self, cputime.Ran, cputime.Of}
	if !rt.real && !rt.clock.paused {
		s.limit = 0 // a bubble's time stands still while a task computes
	}
	if s.limit == 0 && (rt.alone() && rt.cfg.Spares == 0 || rt.cfg.endless) {
		return
	}
	s.looks.calm = lookWhileCalm
	if s.limit > 0 {
		s.looks.calm = min(lookWhileCalm, s.limit/2)
	}
}

// look checks all workers, and reports slow runs that have not been reported.
func (s *slowWatch) look() {
	for _, r := range s.findSlow() {
		s.report(r)
	}
}

// lookAndGoOn is a look that does not wait for the hook.
func (s *slowWatch) lookAndGoOn() {
	all := s.findSlow()
	if len(all) == 0 {
		return
	}
	s.telling.Store(true)
	go func() {
		defer s.telling.Store(false)
		for _, r := range all {
			s.report(r)
		}
	}()
}

// A slowRun is a run that has lasted for limit.
type slowRun struct {
	worker *worker
	task   *Task
	lasted time.Duration
	waited time.Duration // time in which the run waited for a processor
}

func (s *slowWatch) findSlow() (all []slowRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, beat := s.rt.Now(), s.beat.Load()
	telling := s.telling.Load()
	s.stuck = false
	for _, w := range s.rt.team() {
		m := &w.slow
		parked := w.isParked() || w.gone.Load()
		ended := parked || m.acked.Load() == beat
		s.stuck = s.stuck || w.isStuck(now)
		inPlace := m.inPlace.Load()
		var t *Task
		if !ended && !inPlace {
			t = s.rt.runs(w)
		}
		m.setStuck(!ended && (inPlace || t != nil), now)
		if ended || inPlace {
			m.since.Store(int64(now))
			m.reported.Store(false)
			m.thread.known = false
			m.thread.occupiesWorker = m.thread.occupiesWorker && !ended
			if ended && !parked {
				s.timeThread(&m.thread)
			}
			continue
		}
		if t == nil || m.reported.Load() || s.limit == 0 || telling {
			continue
		}
		lasted := now - time.Duration(m.since.Load())
		if waited, slow := s.isSlow(&m.thread, now, lasted); slow {
			m.name.Store(nil) // the last reported run may have ended before it was named
			m.reported.Store(true)
			all = append(all, slowRun{w, t, lasted, waited})
		}
	}
	if s.stuck {
		s.rt.wakeRescuer()
	}
	s.rt.spares.decide(now)
	s.beat.Add(1)
	return all
}

func (m *slowMark) setStuck(stuck bool, now time.Duration) {
	if stuck && !m.stuck {
		m.stuckSince = now
	}
	m.stuck = stuck
}

// runs is the task that runs on a worker that has acknowledged no beat for a while, or nil if
// there is none. If the worker has suspended the task, another worker may run it by now.
func (rt *Runtime) runs(w *worker) *Task {
	t := w.slow.shown.Load()
	if t == nil || t.state.word.Load()&lifecycleMask != stateRunning {
		return nil
	}
	for _, v := range rt.team() {
		if v != w && v.slow.shown.Load() == t && !v.isParked() {
			return nil
		}
	}
	return t
}

// acknowledge stores the current beat, and reports whether it was a new one.
func (w *worker) acknowledge() bool {
	beat := w.rt.slow.beat.Load()
	if beat == w.slow.beat {
		return false
	}
	w.slow.beat = beat
	w.noteThread()
	w.slow.acked.Store(beat)
	return true
}

// hasNewBeat reports that there was a look that the worker has not acknowledged.
func (w *worker) hasNewBeat() bool { return w.rt.slow.beat.Load() != w.slow.beat }

// began is about when the run began that has just ended. It was the tick's run number ran, counted
// from 0. The result is exact if the clock was read at the end of the run before, as while the
// worker times tasks, or if the run was the first of the tick. Otherwise it is estimated: the runs
// since the last clock reading took the average time.
func (w *worker) began(ran int) time.Duration {
	last := w.long.lastRun
	if !w.hasNewBeat() {
		return last
	}
	by := time.Duration(w.slow.since.Load()) // the run had begun by then
	if w.slow.startUnknown {
		return max(last, by)
	}
	return max(last, min(by, last+time.Duration(float64(ran-w.slow.ran)*w.adapt.cost)))
}

// wasReported reports whether the run that has just ended was reported. The worker has not
// acknowledged a beat since the run began.
func (w *worker) wasReported() bool { return w.hasNewBeat() && w.slow.reported.Load() }

// countUntimed is called when a tick with ran runs has ended. It counts a slow run that the worker
// has not timed, because the look came too late.
func (w *worker) countUntimed(ran int) {
	if n := ran - w.slow.ran; n > 0 && !w.slow.startUnknown {
		others := time.Duration(float64(n-1) * w.adapt.cost)
		w.countSlow(w.long.lastRun, w.now, others+w.slow.away, false)
	}
}

// countSlow counts a run from began to ended if it was slow. away is the part of that time that
// does not count for the run. A reported run was slow, even if less is known at its end: the known
// time may be a lower bound.
func (w *worker) countSlow(began, ended, away time.Duration, reported bool) {
	limit, took := w.rt.slow.limit, ended-began-away
	if limit == 0 || took < limit && !reported {
		return
	}
	if took -= w.starved(began); reported {
		took = max(took, limit)
		if name := w.slow.name.Swap(nil); name != nil {
			w.rt.slow.handlers.ended(*name, took)
		}
	} else if took < limit {
		return
	}
	c := &w.count
	c.SlowPolls++
	c.MaxPoll = max(c.MaxPoll, took)
	i := 0
	for d := 2 * limit; d <= took && i < len(c.SlowPollTimes)-1; d *= 2 {
		i++
	}
	c.SlowPollTimes[i]++
}
