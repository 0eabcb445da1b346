//go:build explore

package sched

import (
	"testing"
	"time"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// An exploredAlarm may go off at any moment while it is set.
type exploredAlarm struct {
	x     *explorer.Execution
	isSet bool
}

func (a *exploredAlarm) set(time.Duration) {
	explorer.Step(a.x, "sets the alarm", &a.isSet, func() { a.isSet = true })
}

func (a *exploredAlarm) cancel() {
	explorer.Step(a.x, "cancels the alarm", &a.isSet, func() { a.isSet = false })
}

func (a *exploredAlarm) wait() bool {
	explorer.Rest(a.x, "the looks rest", &a.isSet, func() bool { return a.isSet }, func() { a.isSet = false })
	return true
}

func (a *exploredAlarm) stop() {}

// Workers end their rests, get stuck until a look frees them, and rest again. A stuck worker is
// freed whatever the others do, and the looks end.
func TestExploreTheLooks(t *testing.T) {
	most := 3
	if testing.Short() {
		most = 2
	}
	for workers := 1; workers <= most; workers++ {
		rounds := 2
		if workers > 2 {
			rounds = 1
		}
		explorer.Explore(t, explorer.Options{Preemptions: 4 - workers}, func(x *explorer.Execution) {
			alarm := &exploredAlarm{x: x}
			l := &looks{alarm: alarm, calm: 1}
			stuck, done := 0, 0
			for range workers {
				x.Go("worker", func() {
					for range rounds {
						l.endRest()
						explorer.Step(x, "gets stuck", &stuck, func() { stuck++ })
						explorer.Rest(x, "is stuck", &stuck, func() bool { return stuck == 0 }, func() {})
						l.beginRest()
					}
					explorer.Step(x, "is done", &done, func() { done++ })
				})
			}
			x.Go("looks", func() {
				for alarm.wait() {
					explorer.Step(x, "frees the workers", &stuck, func() { stuck = 0 })
					l.goOn(1)
					x.Yield()
				}
			})
			x.Finally(func() {
				x.Require(done == workers, "no look was made while a worker was stuck")
				x.Require(!alarm.isSet, "the looks go on while all workers rest")
			})
		})
	}
}
