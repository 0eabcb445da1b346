package sched

import (
	"strconv"
	"time"

	"github.com/suiro-go/suiro/internal/owned"
	"github.com/suiro-go/suiro/metrics"
)

// WorkerLabel is the label of Metrics that has the index of a worker.
const WorkerLabel = "suiro.worker"

// A workerFigure is a family with a sample for each worker.
type workerFigure struct {
	name, unit, help string
	kind             metrics.Kind
	of               func(*WorkerStats) float64
}

var workerFigures = []workerFigure{
	{"suiro.worker.busy_time", "s", "Time in which the worker has not waited for events.", metrics.Counter,
		func(w *WorkerStats) float64 { return w.Busy.Seconds() }},
	{"suiro.worker.runs", "{run}", "Runs of tasks.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Polled) }},
	{"suiro.worker.lifo_runs", "{run}", "Runs of tasks that the task before had woken.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.LIFOHits) }},
	{"suiro.worker.events", "{event}", "Completions and other events that the worker's polls have returned.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Events) }},
	{"suiro.worker.parks", "{park}", "Waits for events.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Parks) }},
	{"suiro.worker.unparks", "{unpark}", "Ends of waits for events.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Unparks) }},
	{"suiro.worker.claims", "{unpark}", "Ends of waits because there was work elsewhere.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Claimed) }},
	{"suiro.worker.spared_wakeups", "{wakeup}", "Times that too little work was queued to wake another worker.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.WakesSpared) }},
	{"suiro.worker.steal_attempts", "{attempt}", "Queues of others that the worker has searched for tasks.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.StealAttempts) }},
	{"suiro.worker.steals", "{steal}", "Searches of others' queues that found tasks.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Steals) }},
	{"suiro.worker.stolen_tasks", "{task}", "Tasks that the worker has taken from others.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Stolen) }},
	{"suiro.worker.global_fetches", "{fetch}", "Fetches from the global queue.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.BatchFetches) }},
	{"suiro.worker.queue_overflows", "{overflow}", "Times that the worker's queue was full, so that tasks went to the global queue.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Overflows) }},
	{"suiro.worker.rescues", "{rescue}", "Times that the worker has taken events of a stuck worker.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Rescues) }},
	{"suiro.worker.rescued_events", "{event}", "Events that the worker has taken from stuck workers.", metrics.Counter,
		func(w *WorkerStats) float64 { return float64(w.Rescued) }},
	{"suiro.worker.queued_tasks", "{task}", "Tasks in the worker's queues.", metrics.Gauge,
		func(w *WorkerStats) float64 { return float64(w.Queued) }},
	{"suiro.worker.mean_run", "s", "Mean duration of a task's run: a moving average.", metrics.Gauge,
		func(w *WorkerStats) float64 { return w.MeanPoll.Seconds() }},
}

// A runtimeFigure is a family with one sample for each of its label's values, or one sample.
type runtimeFigure struct {
	name, unit, help string
	kind             metrics.Kind
	label, value     string // "": the sample has no label
	of               func(*Stats) float64
}

var runtimeFigures = []runtimeFigure{
	{"suiro.runtime.workers", "{worker}", "Workers, by their state. Spare workers are not among them.", metrics.Gauge, "state", "parked",
		func(s *Stats) float64 { return float64(s.Parked) }},
	{"suiro.runtime.workers", "", "", metrics.Gauge, "state", "searching",
		func(s *Stats) float64 { return float64(s.Searching) }},
	{"suiro.runtime.workers", "", "", metrics.Gauge, "state", "running",
		func(s *Stats) float64 { return float64(max(0, s.base-s.Parked-s.Searching)) }},
	{"suiro.runtime.queued_tasks", "{task}", "Tasks in the queues that the workers share.", metrics.Gauge, "queue", "global",
		func(s *Stats) float64 { return float64(s.GlobalQueued) }},
	{"suiro.runtime.queued_tasks", "", "", metrics.Gauge, "queue", "long",
		func(s *Stats) float64 { return float64(s.LongQueued) }},
	{"suiro.task.spawned", "{task}", "Tasks that were spawned, by tasks on workers or from outside.", metrics.Counter, "origin", "worker",
		func(s *Stats) float64 { return float64(s.Total.SpawnedLocal) }},
	{"suiro.task.spawned", "", "", metrics.Counter, "origin", "outside",
		func(s *Stats) float64 { return float64(s.SpawnedRemote) }},
	{"suiro.task.completed", "{task}", "Tasks that have ended, those of connections among them.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Total.Completed) }},
	{"suiro.task.panics", "{panic}", "Panics that became no task's result.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Panics) }},
	{"suiro.task.outside_wakeups", "{wakeup}", "Wake-ups of tasks from outside their workers, spawns among them.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.remoteWakes) }},
	{"suiro.task.slow_runs", "{run}", "Runs that took as long as SlowTask or longer.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Total.SlowPolls) }},
	{"suiro.task.longest_run", "s", "Duration of the longest slow run since the start.", metrics.Gauge, "", "",
		func(s *Stats) float64 { return s.Total.MaxPoll.Seconds() }},
	{"suiro.task.stacks", "{stack}", "Stacks in use by sequential handlers and stackful tasks.", metrics.Gauge, "", "",
		func(s *Stats) float64 { return float64(s.Total.Coroutines) }},
	{"suiro.task.reused_stacks", "{stack}", "Stackful tasks that needed no new stack.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Total.CoroutinesReused) }},
	{"suiro.timer.active", "{timer}", "Timers that have not fired.", metrics.Gauge, "", "",
		func(s *Stats) float64 { return float64(s.timers) }},
	{"suiro.timer.fired", "{timer}", "Timers that have fired.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Total.TimersFired) }},
	{"suiro.spare.active", "{worker}", "Spare workers in service.", metrics.Gauge, "", "",
		func(s *Stats) float64 { return float64(s.Deployed) }},
	{"suiro.spare.deployments", "{deployment}", "Times that a spare worker was put into service.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Deployments) }},
	{"suiro.spare.exhaustions", "{exhaustion}", "Times that all workers and all spare workers were stuck.", metrics.Counter, "", "",
		func(s *Stats) float64 { return float64(s.Exhausted) }},
}

// A taskHistogram is a family of the workers' histograms, in seconds.
type taskHistogram struct {
	name, help string
	of         func(*figures) *owned.Histogram
}

var taskHistograms = []taskHistogram{
	{"suiro.task.run.duration", "Durations of the runs of tasks and handlers: one run in 32 is timed and counts for 32.",
		func(f *figures) *owned.Histogram { return &f.runs }},
	{"suiro.task.schedule.delay", "How long woken tasks have waited until they ran: one wake-up in 32 is timed and counts for 32.",
		func(f *figures) *owned.Histogram { return &f.delays }},
	{"suiro.worker.delay", "Time between two polls of a worker that has run tasks: an event may have waited as long.",
		func(f *figures) *owned.Histogram { return &f.ticks }},
}

// pollBounds are the bounds of WorkerStats.PollEvents.
var pollBounds = []float64{0, 1, 3, 7, 15, 31, 63}

// Metrics returns the figures of the workers and tasks. Names that begin with suiro.worker are
// those of workers: most have a sample for each, with WorkerLabel. Spare workers are among them
// once they exist. Any goroutine may call it. It stops no worker.
func (rt *Runtime) Metrics() []metrics.Family {
	s := rt.Stats()
	s.base, s.remoteWakes = len(rt.workers), rt.probes.remote.Load()
	rt.timers.mu.Lock()
	s.timers = rt.timers.wheel.Len()
	rt.timers.mu.Unlock()
	team := rt.team()[:len(s.Workers)]

	all := make([]metrics.Family, 0, len(workerFigures)+len(runtimeFigures)+len(taskHistograms)+2)
	all = append(all, rt.utilization(team, &s))
	for i := range workerFigures {
		f := &workerFigures[i]
		family := metrics.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.kind}
		for w := range s.Workers {
			family.Samples = append(family.Samples, metrics.Sample{Labels: workerLabel(w), Value: f.of(&s.Workers[w])})
		}
		all = append(all, family)
	}
	for i := range runtimeFigures {
		f := &runtimeFigures[i]
		sample := metrics.Sample{Value: f.of(&s)}
		if f.label != "" {
			sample.Labels = []metrics.Label{{Name: f.label, Value: f.value}}
		}
		if last := len(all) - 1; all[last].Name == f.name {
			all[last].Samples = append(all[last].Samples, sample)
			continue
		}
		all = append(all, metrics.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.kind, Samples: []metrics.Sample{sample}})
	}
	for _, f := range taskHistograms {
		var sum owned.Sum
		for _, w := range team {
			sum.Add(f.of(w.meter.figures))
		}
		all = append(all, metrics.Family{Name: f.name, Unit: "s", Help: f.help, Kind: metrics.Histogram,
			Samples: []metrics.Sample{{Distribution: sum.Distribution(1e-9, owned.Short)}}})
	}
	return append(all, pollEvents(&s.Total))
}

func workerLabel(index int) []metrics.Label {
	return []metrics.Label{{Name: WorkerLabel, Value: strconv.Itoa(index)}}
}

// utilization is suiro.worker.utilization. A worker within a long run has not published its time.
func (rt *Runtime) utilization(team []*worker, s *Stats) metrics.Family {
	now := rt.Now()
	busy := make([]time.Duration, len(team))
	for i, w := range team {
		busy[i] = s.Workers[i].Busy
		if !w.isParked() && !w.gone.Load() {
			busy[i] += max(0, now-max(s.Workers[i].asOf, time.Duration(w.tickAt.Load())))
		}
	}
	f := metrics.Family{Name: "suiro.worker.utilization", Unit: "1", Kind: metrics.Gauge,
		Help: "Share of time in which the worker has not waited for events, over about the last second."}
	for i, share := range rt.shares.of(now, busy) {
		f.Samples = append(f.Samples, metrics.Sample{Labels: workerLabel(i), Value: share})
	}
	return f
}

func pollEvents(w *WorkerStats) metrics.Family {
	d := &metrics.Distribution{Sum: float64(w.Events), Bounds: pollBounds, Counts: w.PollEvents[:]}
	for _, n := range w.PollEvents {
		d.Count += n
	}
	return metrics.Family{Name: "suiro.worker.poll.events", Unit: "{event}", Kind: metrics.Histogram,
		Help: "Events that one poll of a worker has returned.", Samples: []metrics.Sample{{Distribution: d}}}
}

var _ metrics.Source = (*Runtime)(nil)
