//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A worker leaves its park while the goroutine of the looks is about to rest. That goroutine goes
// on with the looks, or is woken.
func TestExploreAWatchThatRests(t *testing.T) {
	for _, workers := range []int{1, 2} {
		explorer.Explore(t, explorer.Options{Preemptions: explorer.Unbounded}, func(x *explorer.Execution) {
			rt := &Runtime{}
			rt.idle.init(workers)
			s := &rt.slow
			s.rt, s.wake, s.idleLooks = rt, make(chan struct{}, 1), maxIdleLooks-1
			rt.spares.rt = rt
			rt.spares.team.Store(&rt.workers)
			rests := false
			x.Go("watch", func() { rests = s.mayRest() })
			for i := range workers {
				rt.workers = append(rt.workers, &worker{rt: rt, index: i})
				rt.idle.park(i, false)
				x.Go("worker", func() {
					rt.idle.unpark(i)
					s.endRest()
				})
			}
			x.Finally(func() {
				x.Require(!rests || len(s.wake) > 0, "the watch rests while a worker runs")
				x.Require(rests || len(s.wake) == 0, "the watch is woken although it does not rest")
			})
		})
	}
}
