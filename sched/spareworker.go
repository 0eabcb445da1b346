package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/onworker"
)

// runAsSpare is the goroutine of a spare worker.
func (w *worker) runAsSpare() {
	s := &w.rt.spares
	defer w.rt.running.Done()
	w.settle()
	defer onworker.Leave()
	ready := make(chan error, 1)
	joined := false
	defer func() { // deferred, in case NewDriver exits the goroutine
		if !joined {
			s.failed(<-ready)
		}
	}()
	if !w.makeDriver(ready) {
		return
	}
	joined = true
	w.enterLoop()
	s.register(w)
	defer w.end()
	w.loop(false)
}

func (s *spares) register(w *worker) {
	all := append(append([]*worker(nil), s.rt.team()...), w)
	s.team.Store(&all)
	s.deployments.Add(1)
	s.making.Store(false)
}

func (s *spares) failed(err error) {
	s.rt.cfg.Logger.Error("sched: a spare worker could not be made", "error", err)
	s.retry.Store(int64(s.rt.Now() + retryAfter))
	s.rt.slow.looks.beginRest()
	s.making.Store(false)
}

// pollAsSpare is poll for a spare worker.
func (w *worker) pollAsSpare() (int, error) {
	if s := w.spare; s.wasDeployed != s.deployed.Load() {
		s.wasDeployed, s.untrimmed = !s.wasDeployed, true
		w.long.lastTurn, w.long.pause = w.rt.Now(), mostPause // if it has short tasks, they go first
		if !s.wasDeployed && w.hasWork() {
			w.handOver() // tasks that always have work would compute here beside the workers
		}
	}
	n, err := w.driver.Poll(&w.cx, 0, false)
	if n > 0 || err != nil || w.hasWork() || w.hasLong() {
		w.spare.idleRests = 0
		return n, err
	}
	if w.spare.deployed.Load() {
		w.now = w.rt.Now()
		if w.rescueStuck() || w.rt.global.len.Load() > 0 && w.fetch(idleBatch) {
			w.spare.idleRests = 0
			return 0, nil
		}
	} else if !w.spare.wasDeployed && w.spare.untrimmed {
		w.spare.untrimmed = false
		w.trim()
	}
	return w.rest()
}

// trim frees memory that the worker keeps for later use.
func (w *worker) trim() {
	for co := popLast(&w.stacks.free); co != nil; co = popLast(&w.stacks.free) {
		co.end()
	}
	if d, ok := w.driver.(trimmer); ok {
		d.Trim()
	}
}

// rest waits; out of service it waits without a limit.
func (w *worker) rest() (n int, err error) {
	s := w.spare
	if !w.parker.tryPark() {
		return w.driver.Poll(&w.cx, 0, false)
	}
	deployed := s.deployed.Load()
	limit := time.Duration(-1)
	switch {
	case deployed:
		limit = w.restInService()
	case s.untrimmed:
		limit = 0 // it was recalled after pollAsSpare had checked
	}
	w.beginIdle()
	w.publish()
	w.slow.shown.Store(nil) // so that its task can be freed
	s.resting.Store(true)
	if w.inbox.len.Load() > 0 || w.rt.stopping.Load() {
		limit = 0
	}
	if !deployed {
		w.rt.slow.looks.beginRest()
		w.count.Parks++
		call(w.rt.cfg.Hooks.WorkerPark, w.index)
	}
	n, err = w.driver.Poll(&w.cx, limit, false)
	if !deployed {
		call(w.rt.cfg.Hooks.WorkerUnpark, w.index)
		w.count.Unparks++
		w.rt.slow.looks.endRest()
	}
	s.resting.Store(false)
	w.yielded = w.rt.Now()
	return n, err
}

// restInService is how long a spare in service rests, at most until the next timer.
func (w *worker) restInService() time.Duration {
	limit := restInService
	if w.spare.idleRests++; w.spare.idleRests > shortRests {
		limit = restLonger
	}
	if next := w.rt.timers.next.Load(); next != never {
		limit = min(limit, max(0, time.Duration(next)-w.rt.Now()))
	}
	return limit
}

// mayRunLong reports whether the worker may run a long task. A spare may only if no worker will do
// so soon.
func (w *worker) mayRunLong() bool {
	if w.spare == nil {
		return true
	}
	since := w.rt.spares.stuckSince.Load()
	if since == never || !w.spare.deployed.Load() {
		return false
	}
	patience := longPatience
	if w.index == len(w.rt.workers)+int(w.rt.spares.limit.Load())-1 {
		patience = lastPatience
	}
	return w.rt.Now()-time.Duration(since) >= patience
}
