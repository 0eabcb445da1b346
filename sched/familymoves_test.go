package sched_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/sched"
)

// familyMoves has for each sample of a runtime's metrics the work that moves it, and by how much. A
// sample is named by its family, and by the value of its label if that is not WorkerLabel. Samples
// of workers are added. Of a histogram the number of values counts.
var familyMoves = []struct {
	work string
	do   func(t *testing.T) (before, after []metrics.Family)
	by   map[string]float64
}{
	{"workers that steal", sched.StealByHand, map[string]float64{
		"suiro.worker.claims":          1,
		"suiro.worker.spared_wakeups":  1,
		"suiro.worker.steal_attempts":  3,
		"suiro.worker.steals":          2,
		"suiro.worker.stolen_tasks":    66,
		"suiro.worker.global_fetches":  1,
		"suiro.worker.queue_overflows": 1,
		"suiro.worker.rescues":         1,
		"suiro.worker.rescued_events":  5,
	}},
	{"three waits", sched.ParkByHand, map[string]float64{
		"suiro.worker.parks":   3,
		"suiro.worker.unparks": 3,
	}},
	{"measured ticks and polls", sched.MeasureByHand, map[string]float64{
		"suiro.worker.mean_run":    (62.5e-3 - 50e-6) / 10,
		"suiro.worker.delay":       3,
		"suiro.worker.events":      1070,
		"suiro.worker.poll.events": 6,
	}},
	{"searchers and long tasks", sched.SearchByHand, map[string]float64{
		"suiro.runtime.workers searching": 2,
		"suiro.runtime.workers running":   -2,
		"suiro.runtime.queued_tasks long": 3,
	}},
	{"a slow run", slowRunMoves, map[string]float64{
		"suiro.worker.busy_time":     3,
		"suiro.worker.utilization":   0.75,
		"suiro.worker.runs":          1,
		"suiro.task.longest_run":     3,
		"suiro.task.slow_runs":       1,
		"suiro.task.completed":       1,
		"suiro.task.spawned outside": 1,
	}},
	{"tasks that spawn and wake others", spawnsMove, map[string]float64{
		"suiro.worker.lifo_runs":    2,
		"suiro.task.spawned worker": 11,
		"suiro.task.completed":      13,
	}},
	{"128 tasks that run four times", sampledRunsMove, map[string]float64{
		"suiro.worker.runs":          512,
		"suiro.task.run.duration":    512,
		"suiro.task.schedule.delay":  128,
		"suiro.task.outside_wakeups": 128,
	}},
	{"tasks behind two occupied workers", queuesMove, map[string]float64{
		"suiro.runtime.workers parked":      -2,
		"suiro.runtime.workers running":     2,
		"suiro.runtime.queued_tasks global": 5,
		"suiro.worker.queued_tasks":         3,
	}},
	{"panics of detached tasks", panicsMove, map[string]float64{"suiro.task.panics": 2}},
	{"four stackful tasks, of which three go on", stacksMove, map[string]float64{
		"suiro.task.stacks":        3,
		"suiro.task.reused_stacks": 1,
	}},
	{"four timers, of which one fires", timersMove, map[string]float64{
		"suiro.timer.active": 3,
		"suiro.timer.fired":  1,
	}},
	{"tasks that block a worker and its spares", sparesMove, map[string]float64{
		"suiro.spare.active":      2,
		"suiro.spare.deployments": 2,
		"suiro.spare.exhaustions": 1,
	}},
}

// samplesOf are the samples' values by the names that familyMoves uses.
func samplesOf(all []metrics.Family) map[string]float64 {
	values := map[string]float64{}
	for _, f := range all {
		for _, s := range f.Samples {
			name := f.Name
			for _, l := range s.Labels {
				if l.Name != sched.WorkerLabel {
					name += " " + l.Value
				}
			}
			values[name] += s.Value
			if s.Distribution != nil {
				values[name] += float64(s.Distribution.Count)
			}
		}
	}
	return values
}

func TestFamiliesOfARuntimeMoveByKnownAmounts(t *testing.T) {
	for _, m := range familyMoves {
		t.Run(m.work, func(t *testing.T) {
			all, end := m.do(t)
			before, after := samplesOf(all), samplesOf(end)
			for name, by := range m.by {
				require.Contains(t, before, name)
				require.InDelta(t, by, after[name]-before[name], 1e-8, name)
			}
		})
	}
}

// A new family, or a new value of its label, needs a line in familyMoves.
func TestEachFamilyOfARuntimeHasAMoveByAKnownAmount(t *testing.T) {
	moved := map[string]bool{}
	for _, m := range familyMoves {
		for name, by := range m.by {
			require.NotZero(t, by, name)
			moved[name] = true
		}
	}
	all := samplesOf(sched.New(sched.Config{Workers: 1}).Metrics())
	for name := range all {
		require.True(t, moved[name], "no test moves %s by a known amount", name)
	}
	require.Equal(t, slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(moved)))
}

// becomes waits until a sample has that value.
func becomes(t *testing.T, rt *sched.Runtime, name string, want float64) {
	t.Helper()
	eventually(t, name, func() bool { return samplesOf(rt.Metrics())[name] == want })
}

// slowRunMoves: one worker rests for a second and then runs a task for three.
func slowRunMoves(t *testing.T) (before, after []metrics.Family) {
	rt, _ := pausedSlow(t, sched.Config{Workers: 1})
	atRest(t, rt)
	before = rt.Metrics()
	rt.Advance(time.Second)
	atRest(t, rt)
	in, leave := make(chan struct{}), make(chan struct{})
	sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) {
		close(in)
		<-leave
		return 0, nil
	})).Detach()
	receive(t, "the task runs", in)
	rt.Advance(3 * time.Second)
	close(leave)
	require.NoError(t, shut(t, rt))
	return before, rt.Metrics()
}

// spawnsMove: a task wakes another one, which runs next. That one spawns 11, and the last of these
// runs next.
func spawnsMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 1})
	before = rt.Metrics()
	spawned := make(chan struct{})
	second := freeTask(rt, func(cx *sched.Context) bool {
		for range 11 {
			sched.Spawn(cx, ready(1, nil)).Detach()
		}
		close(spawned)
		return true
	})
	freeTask(rt, func(cx *sched.Context) bool {
		cx.Wake(second.Waker())
		return true
	}).Wake()
	receive(t, "the second task runs", spawned)
	becomes(t, rt, "suiro.task.completed", 13)
	require.NoError(t, shut(t, rt))
	return before, rt.Metrics()
}

// sampledRunsMove: 128 tasks wake themselves three times. Both numbers of samples are multiples of
// 32, so all runs and all wake-ups from outside count.
func sampledRunsMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 1})
	before = rt.Metrics()
	done := make(chan struct{}, 128)
	for range cap(done) {
		left := 3
		freeTask(rt, func(cx *sched.Context) bool {
			if left == 0 {
				done <- struct{}{}
				return true
			}
			left--
			cx.Waker().Wake()
			return false
		}).Wake()
	}
	for range cap(done) {
		receive(t, "a task ends", done)
	}
	require.NoError(t, shut(t, rt))
	return before, rt.Metrics()
}

func queuesMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 2, Spares: -1})
	eventually(t, "all rest", func() bool {
		before = rt.Metrics()
		return samplesOf(before)["suiro.runtime.workers parked"] == 2
	})
	releases := []func(){occupy(t, rt, 0), occupy(t, rt, 1)}
	for range 5 {
		freeTask(rt, func(*sched.Context) bool { return true }).Wake()
	}
	for range 3 {
		newTask(rt, 1, func(*sched.Context) bool { return true }).Wake()
	}
	after = rt.Metrics()
	for _, release := range releases {
		release()
	}
	return before, after
}

func panicsMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 1})
	before = rt.Metrics()
	for range 2 {
		sched.Go(rt, func(*sched.Context) (int, error) { panic("as asked") }).Detach()
	}
	becomes(t, rt, "suiro.task.panics", 2)
	return before, rt.Metrics()
}

// stacksMove: three stackful tasks keep their stacks. Before them one has ended, and left its own.
func stacksMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 1})
	before = rt.Metrics()
	_, err := wait(t, sched.Go(rt, func(*sched.Context) (int, error) { return 1, nil }))
	require.NoError(t, err)
	pending := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, sched.ErrPending })
	for range 3 {
		sched.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await(cx, pending) }).Detach()
	}
	becomes(t, rt, "suiro.task.stacks", 3)
	return before, rt.Metrics()
}

// timersMove: the clock is held, so that it moves only by Advance.
func timersMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 1, Paused: true})
	rt.HoldClock()
	before = rt.Metrics()
	for range 3 {
		timer := rt.AfterFunc(time.Hour, func() {})
		t.Cleanup(func() { timer.Stop() })
	}
	rt.AfterFunc(time.Minute, func() {})
	rt.Advance(time.Minute)
	becomes(t, rt, "suiro.timer.fired", 1)
	return before, rt.Metrics()
}

func sparesMove(t *testing.T) (before, after []metrics.Family) {
	rt := start(t, sched.Config{Workers: 1, Spares: 2, SlowTask: -1})
	before = rt.Metrics()
	leave := make(chan struct{})
	for range 8 {
		freeTask(rt, func(*sched.Context) bool { <-leave; return true }).Wake()
	}
	becomes(t, rt, "suiro.spare.exhaustions", 1)
	after = rt.Metrics()
	close(leave)
	return before, after
}
