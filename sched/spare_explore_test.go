//go:build explore

package sched

import (
	"testing"
	"time"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A spareTest has one worker, one spare and the goroutine of the looks. It uses the production
// code of spares, of a spare's rest and of the looks' rest.
type spareTest struct {
	*Runtime
	x       *explorer.Execution
	worker  *worker
	spare   *worker
	stuck   bool // the worker is in a task that does not end by itself
	free    bool // that task may end now
	waiting int  // tasks behind that task
}

// A restingDriver is the driver of a spare: it waits until it is woken.
type restingDriver struct {
	m    *spareTest
	wake bool
}

func (d *restingDriver) Poll(_ *Context, wait time.Duration, _ bool) (int, error) {
	switch {
	case wait < 0:
		explorer.Rest(d.m.x, "rests", &d.wake, func() bool { return d.wake }, func() { d.wake = false })
	default:
		explorer.Step(d.m.x, "polls", &d.wake, func() { d.wake = false })
		d.m.x.Yield()
	}
	return 0, nil
}

func (d *restingDriver) Wake() {
	explorer.Step(d.m.x, "wakes the spare", &d.wake, func() { d.wake = true })
}

func (d *restingDriver) Close() error { return nil }

func newSpareTest(x *explorer.Execution) *spareTest {
	m := &spareTest{Runtime: &Runtime{}, x: x}
	rt := m.Runtime
	rt.epoch = time.Now()
	rt.idle.init(1)
	rt.slow.rt = rt
	rt.slow.looks.alarm = &exploredAlarm{x: x, isSet: true}
	rt.slow.looks.awake.Store(1) // the spare, which was awake when it was made
	rt.timers.next.Store(never)
	rt.spares.rt = rt
	rt.spares.limit.Store(1)
	m.worker = &worker{rt: rt}
	m.spare = &worker{rt: rt, index: 1, spare: new(spare), driver: &restingDriver{m: m}}
	rt.workers = []*worker{m.worker}
	all := []*worker{m.worker, m.spare}
	rt.spares.team.Store(&all)
	rt.idle.park(0, false)
	x.Go("worker", m.work)
	x.Go("spare", m.serve)
	x.Go("looks", m.looks)
	return m
}

// work leaves the worker's park. Tasks then wait behind a task that is stuck until free is set.
func (m *spareTest) work() {
	m.idle.unpark(0)
	m.slow.looks.endRest()
	explorer.Step(m.x, "gets stuck", &m.stuck, func() { m.stuck, m.waiting = true, 1 })
	explorer.Rest(m.x, "is stuck", &m.stuck, func() bool { return m.free }, func() { m.stuck = false })
	m.idle.park(0, false)
	m.slow.looks.beginRest()
}

// serve is the loop of the spare.
func (m *spareTest) serve() {
	w := m.spare
	for {
		w.parker.looking()
		if w.spare.deployed.Load() {
			explorer.Step(m.x, "relieves", &m.stuck, func() {
				if m.stuck && m.waiting > 0 {
					m.waiting = 0
					m.free = true // for example, the stuck task waits for this one
				}
			})
		}
		_, _ = w.rest()
	}
}

// looks is the loop of slowWatch, without the times between looks.
func (m *spareTest) looks() {
	for m.slow.looks.alarm.wait() {
		explorer.Step(m.x, "looks", &m.stuck, func() { m.worker.slow.stuck = m.stuck })
		if !m.worker.slow.stuck {
			m.spares.movedLooks = recallAfter - 1 // as if earlier looks had found workers that were not stuck
		}
		m.spares.decide(0)
		m.slow.looks.goOn(1)
		m.x.Yield()
	}
}

// A spare is deployed when the only worker is stuck, and rests when the worker has gone on.
func TestExploreASpare(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 1}, func(x *explorer.Execution) {
		m := newSpareTest(x)
		x.Finally(func() {
			x.Require(m.free && m.waiting == 0, "nobody was deployed for a worker that is stuck")
			x.Require(!m.spare.spare.deployed.Load(), "the spare was not recalled")
			x.Require(m.spare.spare.resting.Load(), "the spare does not rest")
			x.Require(m.slow.looks.awake.Load() == 0, "the looks go on while everything rests")
		})
	})
}
