package sched

import (
	"sync/atomic"
	"time"
)

// A timerAlarm is an alarm by a timer of package time. To set such a timer often wakes a thread,
// and so does its end. So it is set only if it is not set, and never canceled.
type timerAlarm struct {
	timer *time.Timer
	isSet atomic.Bool
	over  chan struct{}
}

func newTimerAlarm() *timerAlarm {
	a := &timerAlarm{timer: time.NewTimer(time.Hour), over: make(chan struct{})}
	a.timer.Stop()
	return a
}

func (a *timerAlarm) set(d time.Duration) {
	if a.isSet.CompareAndSwap(false, true) {
		a.timer.Reset(d)
	}
}

func (a *timerAlarm) cancel() {}

func (a *timerAlarm) wait() bool {
	select {
	case <-a.timer.C:
		a.isSet.Store(false)
		return true
	case <-a.over:
		a.timer.Stop()
		return false
	}
}

func (a *timerAlarm) stop() { close(a.over) }
