package alarm

import (
	"time"

	"github.com/suiro-go/suiro/sched"
)

// An Alarm wakes a task by the earliest of the task's deadlines. It stores only that one time. It
// is for the task alone. Times are the runtime's; 0 means none. The zero value wakes no task.
//
// The task calls Set at the end of each run, with the earliest deadline that it has then,
// and looks at its deadlines when Rang reports true. A deadline that has moved later costs
// one run that finds nothing due.
type Alarm struct {
	timer sched.Timer
	armed time.Duration // when the timer fires
}

// Set has the task woken at a time or before it; 0: that is not needed.
func (a *Alarm) Set(rt *sched.Runtime, at time.Duration, w sched.Waker) {
	if at != 0 && (a.armed == 0 || at < a.armed) {
		a.armed = at
		rt.StartTimer(&a.timer, at, w)
	}
}

// Rang reports whether the alarm has woken the task since it was set. It forgets that, so
// the next Set starts the timer again.
func (a *Alarm) Rang() bool {
	if a.armed == 0 || !a.timer.Fired() {
		return false
	}
	a.armed = 0
	return true
}

// Stop ends the alarm, which then wakes nobody. A wake-up that is under way still comes.
func (a *Alarm) Stop(rt *sched.Runtime) {
	if a.armed != 0 {
		a.armed = 0
		rt.StopTimer(&a.timer)
	}
}

// Earliest is the earliest of several times; 0 if there is none.
func Earliest(times ...time.Duration) (first time.Duration) {
	for _, at := range times {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}
