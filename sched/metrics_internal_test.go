package sched

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/metrics"
)

// figureOf is the sum of a family's values, of the samples that have the label if one is named.
func figureOf(t *testing.T, all []metrics.Family, name string, label ...string) (sum float64) {
	t.Helper()
	for _, f := range all {
		if f.Name != name {
			continue
		}
		for _, s := range f.Samples {
			if len(label) > 0 && (len(s.Labels) == 0 || s.Labels[0] != metrics.Label{Name: label[0], Value: label[1]}) {
				continue
			}
			if s.Distribution != nil {
				sum += float64(s.Distribution.Count)
			}
			sum += s.Value
		}
		return sum
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// Each count of a worker moves its family. That the counts are right is shown where they are
// counted. A family without a line here fails the test.
func TestEachFamilyOfWorkersMoves(t *testing.T) {
	moved := map[string]struct {
		by float64
		do func(w *WorkerStats)
	}{
		"suiro.worker.busy_time":       {2, func(w *WorkerStats) { w.Busy += 2 * time.Second }},
		"suiro.worker.runs":            {3, func(w *WorkerStats) { w.Polled += 3 }},
		"suiro.worker.lifo_runs":       {4, func(w *WorkerStats) { w.LIFOHits += 4 }},
		"suiro.worker.events":          {5, func(w *WorkerStats) { w.Events += 5 }},
		"suiro.worker.parks":           {6, func(w *WorkerStats) { w.Parks += 6 }},
		"suiro.worker.unparks":         {7, func(w *WorkerStats) { w.Unparks += 7 }},
		"suiro.worker.claims":          {8, func(w *WorkerStats) { w.Claimed += 8 }},
		"suiro.worker.spared_wakeups":  {9, func(w *WorkerStats) { w.WakesSpared += 9 }},
		"suiro.worker.steal_attempts":  {10, func(w *WorkerStats) { w.StealAttempts += 10 }},
		"suiro.worker.steals":          {11, func(w *WorkerStats) { w.Steals += 11 }},
		"suiro.worker.stolen_tasks":    {12, func(w *WorkerStats) { w.Stolen += 12 }},
		"suiro.worker.global_fetches":  {13, func(w *WorkerStats) { w.BatchFetches += 13 }},
		"suiro.worker.queue_overflows": {14, func(w *WorkerStats) { w.Overflows += 14 }},
		"suiro.worker.rescues":         {15, func(w *WorkerStats) { w.Rescues += 15 }},
		"suiro.worker.rescued_events":  {16, func(w *WorkerStats) { w.Rescued += 16 }},
		"suiro.worker.queued_tasks":    {17, func(w *WorkerStats) { w.Queued += 17 }},
		"suiro.worker.mean_run":        {18, func(w *WorkerStats) { w.MeanPoll += 18 * time.Second }},
	}
	for _, f := range workerFigures {
		m, ok := moved[f.name]
		require.True(t, ok, "%s has no test", f.name)
		var before, after WorkerStats
		m.do(&after)
		require.NotEqual(t, before, after)
		require.Equal(t, m.by, f.of(&after)-f.of(&before), f.name)
		for _, other := range workerFigures {
			require.True(t, other.name == f.name || other.of(&after) == 0, "%s moves %s", f.name, other.name)
		}
	}
	require.Len(t, moved, len(workerFigures))
}

func TestEachFamilyOfTheRuntimeMoves(t *testing.T) {
	moved := map[string]struct {
		by float64
		do func(s *Stats)
	}{
		"suiro.runtime.workers/parked":      {2, func(s *Stats) { s.Parked += 2; s.base += 2 }},
		"suiro.runtime.workers/searching":   {3, func(s *Stats) { s.Searching += 3; s.base += 3 }},
		"suiro.runtime.workers/running":     {4, func(s *Stats) { s.base += 4 }},
		"suiro.runtime.queued_tasks/global": {5, func(s *Stats) { s.GlobalQueued += 5 }},
		"suiro.runtime.queued_tasks/long":   {6, func(s *Stats) { s.LongQueued += 6 }},
		"suiro.task.spawned/worker":         {7, func(s *Stats) { s.Total.SpawnedLocal += 7 }},
		"suiro.task.spawned/outside":        {8, func(s *Stats) { s.SpawnedRemote += 8 }},
		"suiro.task.completed/":             {9, func(s *Stats) { s.Total.Completed += 9 }},
		"suiro.task.outside_wakeups/":       {10, func(s *Stats) { s.remoteWakes += 10 }},
		"suiro.task.panics/":                {20, func(s *Stats) { s.Panics += 20 }},
		"suiro.task.slow_runs/":             {11, func(s *Stats) { s.Total.SlowPolls += 11 }},
		"suiro.task.longest_run/":           {12, func(s *Stats) { s.Total.MaxPoll += 12 * time.Second }},
		"suiro.task.stacks/":                {13, func(s *Stats) { s.Total.Coroutines += 13 }},
		"suiro.task.reused_stacks/":         {14, func(s *Stats) { s.Total.CoroutinesReused += 14 }},
		"suiro.timer.active/":               {15, func(s *Stats) { s.timers += 15 }},
		"suiro.timer.fired/":                {16, func(s *Stats) { s.Total.TimersFired += 16 }},
		"suiro.spare.active/":               {17, func(s *Stats) { s.Deployed += 17 }},
		"suiro.spare.deployments/":          {18, func(s *Stats) { s.Deployments += 18 }},
		"suiro.spare.exhaustions/":          {19, func(s *Stats) { s.Exhausted += 19 }},
	}
	for _, f := range runtimeFigures {
		key := f.name + "/" + f.value
		m, ok := moved[key]
		require.True(t, ok, "%s has no test", key)
		var before, after Stats
		m.do(&after)
		require.False(t, reflect.DeepEqual(before, after))
		require.Equal(t, m.by, f.of(&after)-f.of(&before), key)
	}
	require.Len(t, moved, len(runtimeFigures))
}

// One worker, and tasks whose runs and wake-ups are counted by the test.
func TestFiguresOfARuntimeAtWork(t *testing.T) {
	rt := New(Config{Workers: 1})
	defer rt.Close()
	const tasks, wakes = 4 * sampleEvery, 3
	var ended sync.WaitGroup
	for range tasks {
		ended.Add(1)
		Spawn(rt, FutureFunc[int](func() func(cx *Context) (int, error) {
			left := wakes
			return func(cx *Context) (int, error) {
				if left--; left >= 0 {
					cx.Waker().Wake()
					return 0, ErrPending
				}
				ended.Done()
				return 0, nil
			}
		}())).Detach()
	}
	late := make(chan struct{})
	var timers [3]*FuncTimer
	for i := range timers {
		timers[i] = rt.AfterFunc(time.Hour, func() {})
	}
	rt.AfterFunc(time.Millisecond, func() { close(late) })
	ended.Wait()
	<-late
	all := rt.Metrics()
	require.EqualValues(t, 3, figureOf(t, all, "suiro.timer.active"))
	require.EqualValues(t, 1, figureOf(t, all, "suiro.runtime.workers"))
	for _, timer := range timers {
		require.True(t, timer.Stop())
	}
	require.NoError(t, rt.Close())
	all = rt.Metrics()
	require.EqualValues(t, tasks, figureOf(t, all, "suiro.task.spawned", "origin", "outside"))
	require.Zero(t, figureOf(t, all, "suiro.task.spawned", "origin", "worker"))
	require.EqualValues(t, tasks, figureOf(t, all, "suiro.task.completed"))
	require.EqualValues(t, 1, figureOf(t, all, "suiro.timer.fired"))
	require.Zero(t, figureOf(t, all, "suiro.timer.active"))
	runs := figureOf(t, all, "suiro.worker.runs", WorkerLabel, "0")
	require.EqualValues(t, tasks*(1+wakes), runs)
	require.Equal(t, runs, figureOf(t, all, "suiro.task.run.duration"), "a multiple of sampleEvery")
	require.EqualValues(t, tasks, figureOf(t, all, "suiro.task.outside_wakeups"))
	require.EqualValues(t, tasks, figureOf(t, all, "suiro.task.schedule.delay"), "of the wake-ups from outside, since a task that wakes itself does not wait")
	require.Positive(t, figureOf(t, all, "suiro.worker.delay"))
	require.Positive(t, figureOf(t, all, "suiro.worker.busy_time"))
	require.Positive(t, figureOf(t, all, "suiro.worker.poll.events"))
	names := map[string]bool{}
	for _, f := range all {
		require.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		require.NotEmpty(t, f.Help, f.Name)
		require.NotEmpty(t, f.Unit, f.Name)
	}
}

// Ticks and polls by hand, on a worker that does not run.
func TestHistogramsOfAWorkerMove(t *testing.T) {
	rt := New(Config{Workers: 1})
	w := rt.workers[0]
	w.tickTook(3*time.Millisecond, 4)
	for _, n := range []int{0, 1, 2, 3, 64, 1000} {
		w.countPoll(n)
	}
	w.publish()
	all := rt.Metrics()
	require.EqualValues(t, 4, figureOf(t, all, "suiro.worker.delay"))
	require.EqualValues(t, 6, figureOf(t, all, "suiro.worker.poll.events"))
	d := pollEvents(&w.count).Samples[0].Distribution
	require.EqualValues(t, 1070, d.Sum)
	require.Equal(t, []uint64{1, 1, 2, 0, 0, 0, 0, 2}, d.Counts)
	for _, f := range all {
		if f.Name == "suiro.worker.delay" {
			require.InDelta(t, 0.003, f.Samples[0].Distribution.Quantile(0.5), 0.00003)
		}
	}
}

func TestUtilizationIsTheShareOfTheLastSecond(t *testing.T) {
	var u utilization
	s := time.Second
	require.Equal(t, []float64{0.5}, u.of(2*s, []time.Duration{s}), "since the start")
	require.Equal(t, []float64{1}, u.of(3*s, []time.Duration{3 * s}), "since the start; the first mark is too young")
	require.Equal(t, []float64{1, 0.25}, u.of(4*s, []time.Duration{3 * s, s}), "since second 2; a spare has joined") // see old
	require.Equal(t, []float64{0, 0.1}, u.of(10*s, []time.Duration{3 * s, s}), "since second 3; the spare since the start")
}

// A worker that computes has published nothing, but is busy.
func TestAWorkerWithinALongRunIsBusy(t *testing.T) {
	rt := New(Config{Workers: 1, Spares: -1})
	defer rt.Close()
	began, end := make(chan struct{}), make(chan struct{})
	Spawn(rt, FutureFunc[int](func(*Context) (int, error) {
		close(began)
		<-end
		return 0, nil
	})).Detach()
	<-began
	for share := 0.0; share < 0.5; share = figureOf(t, rt.Metrics(), "suiro.worker.utilization") {
		time.Sleep(time.Millisecond)
	}
	close(end)
}
