package sched

import (
	"log/slog"
	"time"

	"github.com/suiro-go/suiro/internal/procs"
	"github.com/suiro-go/suiro/internal/testmode"
)

// A Config describes a runtime. The zero value describes one without I/O.
type Config struct {
	// Workers is the number of workers. 0: GOMAXPROCS.
	Workers int

	// Hold is how long an idle worker waits while it keeps its processor (its P), before it
	// blocks. The maximum is one second. A longer hold saves hand-overs of the processor and timer
	// interrupts. But a goroutine that becomes ready meanwhile, and finds no other processor,
	// waits that long. So do tasks that a stuck worker has left for others. While the worker holds,
	// Go's monitor looks every 20 µs, which costs about a third of a processor. So a worker does
	// not hold while goroutines wait for a processor, nor while half of its waits are longer than
	// Hold. 0: 100 µs. Negative: not at all.
	Hold time.Duration

	// BusyPoll is how long an idle worker polls its driver without waiting before it holds or
	// blocks. The maximum is one millisecond. An event that arrives meanwhile is handled some
	// microseconds sooner, at the cost of a busy processor. So a worker busy-polls only while at
	// least a quarter of its waits end within BusyPoll. It pays where the next message mostly
	// arrives within some 20 µs, as in a proxy, and latency matters more than CPU time. 0: not at
	// all. It needs a driver, and has no effect with Unlocked or Paused.
	BusyPoll time.Duration

	// WakeCost is the assumed cost of waking a parked worker. If a worker's I/O has queued less
	// work than that, the worker runs it alone. 0: 20 µs.
	WakeCost time.Duration

	// StealScan is the number of other workers that one without work tries to
	// steal from before it looks elsewhere. 0: 4.
	StealScan int

	// Coroutines is the number of unused stacks a worker keeps for stackful
	// tasks. 0: 256.
	Coroutines int

	// Paused gives the runtime a virtual clock, for tests. Its time stands still, and moves to the
	// next timer when nothing can run. So an hour's Sleep takes no time, and a timer fires at its
	// millisecond. (Tokio's start_paused.)
	//
	// Something can run in any of these cases:
	//   - A task runs or is queued.
	//   - A goroutine in Block has been woken and has not polled yet.
	//   - A task's call of package blocking is in progress.
	//   - HoldClock is in effect.
	//
	// The clock does not wait for other goroutines, nor for data on its way through the kernel. To
	// be ordered with the clock, put such work into tasks that join others, or between HoldClock
	// and ReleaseClock. With one worker, tasks then always run in the same order.
	//
	// No time passes while a task runs, so no task counts as long. Nothing is rescued from
	// a worker that is stuck in a task: other workers take only the tasks that it offers to all.
	// Workers do not hold. Only this runtime's time is virtual: package time and the deadlines of
	// contexts use real time.
	Paused bool

	// NewDriver makes the driver of the worker with that index. The worker's goroutine calls it;
	// for spare workers that is later than Start: see Spares. nil: no I/O.
	NewDriver func(worker int) (Driver, error)

	// AnyThread allows a driver to be called on any thread, by one goroutine at a time. So its
	// worker is not locked to a thread, and stackful tasks move between workers (see Go). It has
	// no effect without a driver or with Unlocked, since those workers are not locked.
	AnyThread bool

	// Unlocked makes workers with a driver share threads with other goroutines, as workers without
	// a driver do. It is for tasks that mostly wake goroutines: these then need no thread to be
	// woken. The driver must support it, and its Poll must wait as a goroutine does. Workers do
	// not hold.
	Unlocked bool

	// SlowTask is the duration from which a run of a task is reported, at least 1 ms. It is
	// reported by Hooks.SlowTask, by a warning at most once a second, and in Stats. A run of a
	// handler is that of one connection: all calls of its methods for the data that has arrived.
	// The report comes while the task runs, after one to one and a half times SlowTask. Time in
	// BlockInPlace does not count. Time in which the thread of a worker with a Driver waited for a
	// processor does not count either, as far as it is known (SlowTask.Waited). A run of less than
	// three times SlowTask may be missed if Go has no processor for the goroutine that watches. 0:
	// 10 ms, and none with Paused or in a bubble of testing/synctest. Negative: none.
	SlowTask time.Duration

	// Spares is the maximum number of spare workers. When every worker has been within one run of
	// a task for 1 to 2 ms, a spare takes over the tasks and I/O that wait behind them. It rests
	// again soon after a worker goes on. If that has not happened for a second, a spare takes over
	// after 2 to 4 ms, and after 4 to 6 ms if it is to be made first. If that spare gets stuck as
	// well, the next one is deployed, and so on. So a handler that blocks costs one spare, as long
	// as it blocks. A worker whose thread only waits for a processor does not count as stuck, as
	// far as that is known: see SlowTask.
	//
	// A spare is made when it is first needed, with a driver of its own. NewDriver is called with
	// its index, which is from Workers to Workers+Spares-1. A failure is logged. Until then a
	// spare costs almost no memory; later it costs a goroutine, a driver, and a thread if workers
	// have threads.
	//
	// With its first spare a runtime raises GOMAXPROCS by Spares, since a task that computes keeps
	// its processor of Go's. It also raises it when tasks that compute for 1 ms or longer have
	// eight such runs within a second. Such tasks leave no processor to the goroutine that finds
	// stuck workers. Until the runtimes that have raised it are closed, GOMAXPROCS does not follow
	// the limits of a container. Then it is set back, unless somebody else has changed it.
	//
	// 0: 4; with Paused, and in a bubble of testing/synctest, none. Negative: none.
	Spares int

	// Events is the number of events that each worker keeps for Runtime.Events, at most 1,048,576.
	// It is rounded up to a power of two. An event takes 16 bytes, and some 30 ns. While Go's
	// execution trace runs (runtime/trace), each run of a task is also a region there, with the
	// handler's name. 0: none.
	Events int

	// Hooks are functions that the runtime calls at certain events.
	Hooks Hooks

	// Logger receives warnings, and panics that become nobody's result, which Stats counts:
	//   - of tasks whose handle was detached, or whose JoinSet was closed or shut down
	//   - of hooks and Releasers
	//   - of calls of package blocking whose task has given up
	//
	// The panic of a task whose JoinHandle is merely dropped remains its result, and is not logged.
	// nil: nothing is logged.
	Logger *slog.Logger

	// locked: workers are locked to threads of their own, which their drivers need.
	locked bool

	// holds: a worker that waits may keep its processor.
	holds bool

	// driverless: there was no NewDriver, so workers have only tasks to run.
	driverless bool

	// For tests. endless: a wait ends only by a wake-up, so that a lost one hangs. queueSize is
	// the size of the queues, a power of two.
	endless   bool
	queueSize int
}

func (cfg Config) withDefaults() Config {
	if cfg.Workers <= 0 {
		cfg.Workers = procs.Own()
	}
	if cfg.Hold == 0 {
		cfg.Hold = defaultHold
	}
	cfg.Hold = min(cfg.Hold, time.Second)
	cfg.BusyPoll = min(max(0, cfg.BusyPoll), maxBusyPoll)
	if cfg.Paused { // both would be measured with a clock that stands still
		cfg.Hold, cfg.BusyPoll = -1, 0
	}
	if cfg.WakeCost == 0 {
		cfg.WakeCost = 20 * time.Microsecond
	}
	if cfg.StealScan <= 0 {
		cfg.StealScan = 4
	}
	if cfg.Coroutines <= 0 {
		cfg.Coroutines = 256
	}
	if cfg.queueSize == 0 {
		cfg.queueSize = ringSize
	}
	cfg.holds = cfg.NewDriver != nil && !cfg.Unlocked
	cfg.locked = cfg.holds && !cfg.AnyThread
	cfg.driverless = cfg.NewDriver == nil
	if cfg.driverless {
		cfg.NewDriver = func(int) (Driver, error) { return newSleeper(), nil }
	}
	if !cfg.holds { // a sleeper supports neither
		cfg.Hold, cfg.BusyPoll = -1, 0
	}
	switch {
	case cfg.SlowTask < 0 || cfg.SlowTask == 0 && cfg.Paused:
		cfg.SlowTask = 0
	case cfg.SlowTask == 0:
		cfg.SlowTask = defaultSlowTask
	default:
		cfg.SlowTask = max(cfg.SlowTask, leastSlowTask)
	}
	cfg.endless = cfg.endless || testmode.EndlessParks.Load()
	switch {
	case cfg.Spares < 0 || cfg.Paused || cfg.endless:
		cfg.Spares = 0
	case cfg.Spares == 0 && !testmode.NoSpares.Load():
		cfg.Spares = defaultSpares
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}
