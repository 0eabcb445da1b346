package sched

import (
	"time"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/bubble"
)

// looks decides when the slow watch looks: at intervals, while some worker is awake. A worker is
// awake unless it waits in its driver after its hold, which is its rest. A spare in service is
// always awake. So a server with few messages has no looks, and a message costs it two system calls
// for the alarm, which set no thread in motion.
//
// While a worker is awake, the alarm is set or a look is being made:
//
//	a worker that begins its rest   1 subtracts itself from awake; if that leaves none:
//	                                2 cancels the alarm   3 sets it again if some are awake now
//	a worker that ends its rest     1 adds itself to awake; if it is the first: 2 sets the alarm
//	the goroutine, after a look     1 sets the alarm if some are awake
//
// Assume that a worker has added itself, and that no alarm was set since. Then it was not the
// first, and the first one has set the alarm, or will. Only a cancellation ends an alarm without a
// look. The one that cancels then checks awake. If it did so before the worker added itself, then
// the worker, or the first one before it, sets the alarm after the cancellation.
//
// An alarm may stay set although no worker is awake. The look then finds that nothing runs.
type looks struct {
	_     [2]cpu.CacheLinePad
	awake atomics.Int32
	_     [2]cpu.CacheLinePad

	alarm alarm         // nil: there are no looks
	calm  time.Duration // between two looks while no worker is stuck; 0: there are no looks
}

// An alarm ends a wait of the goroutine of the looks. Any goroutine may set or cancel it.
type alarm interface {
	set(d time.Duration)
	cancel()         // may do nothing: a look is then made in vain
	wait() (ok bool) // until the time that was set; not ok: stop was called
	stop()           // called once, and nothing else after it
}

// The times between two looks. A look costs some 10 µs of CPU time, in two threads. A longer time
// delays the report of a slow run, and the rescue of tasks that wait for a stuck worker.
const (
	lookForStuck  = time.Millisecond // while a worker is stuck, or was, less than calmAfter ago, with all others
	lookWhileCalm = 2 * time.Millisecond
)

// start begins the looks, with all workers awake. The workers have not begun to run.
func (s *slowWatch) start() {
	l := &s.looks
	if l.calm == 0 || s.rt.clock.paused {
		return
	}
	if s.rt.real {
		bubble.Outside(s.begin) // as the workers: the alarm is theirs and the goroutine's
	} else {
		s.begin()
	}
}

func (s *slowWatch) begin() {
	l := &s.looks
	l.alarm = newAlarm(s.rt.real)
	l.awake.Store(int32(len(s.rt.workers)))
	l.alarm.set(l.calm)
	background.Go(s.run)
}

func (s *slowWatch) run() {
	for s.looks.alarm.wait() {
		s.lookAndGoOn()
		s.looks.goOn(s.pause())
	}
}

// end ends the looks. All workers have ended.
func (l *looks) end() {
	if l.alarm != nil {
		l.alarm.stop()
	}
}

// pause is the time until the next look.
func (s *slowWatch) pause() time.Duration {
	if s.stuck || !s.rt.spares.calm() {
		return min(s.looks.calm, lookForStuck)
	}
	return s.looks.calm
}

func (l *looks) goOn(after time.Duration) {
	if l.awake.Load() > 0 {
		l.alarm.set(after)
	}
}

// beginRest is called by a worker that is about to wait for long.
func (l *looks) beginRest() {
	if l.alarm != nil && l.awake.Add(-1) == 0 {
		l.alarm.cancel()
		l.goOn(l.calm)
	}
}

// endRest is called by a worker that has waited, before it runs anything.
func (l *looks) endRest() {
	if l.alarm != nil && l.awake.Add(1) == 1 {
		l.alarm.set(l.calm)
	}
}
