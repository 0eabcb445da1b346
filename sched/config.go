package sched

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/suiro-go/suiro/internal/testmode"
)

// A Config describes a runtime. The zero value is one without I/O.
type Config struct {
	// Workers is the number of workers. 0: GOMAXPROCS.
	Workers int

	// Hold is how long a worker that has run out of work waits with its
	// processor kept before it blocks, at most: a second. Longer spares more
	// hand-overs of the processor, and timer interrupts, of which a shorter
	// one has more; a goroutine that becomes ready meanwhile, and finds no
	// other processor, waits as long, and so does what a worker that is stuck
	// in a task has left for others. It is not done while goroutines are
	// waiting already, and gets shorter while it is of no use. 0: 1 ms.
	// Negative: not at all.
	Hold time.Duration

	// BusyPoll is how long a worker that has run out of work looks for news before it
	// waits, at most: a millisecond. What comes meanwhile finds it awake, some
	// microseconds sooner, at the price of a processor's time; so it only looks while a quarter of its waits
	// would have been as short. It pays where the next message mostly comes within some 20 µs, as
	// through a proxy, and latency counts for more than processors do. 0: not at all. It
	// needs a driver, and is not done with Unlocked or Paused.
	BusyPoll time.Duration

	// WakeCost is what waking a parked worker is taken to cost. A worker whose
	// I/O has queued less work than that does it alone. 0: 20 µs.
	WakeCost time.Duration

	// StealScan is the number of other workers that one without work tries to
	// steal from before it looks elsewhere. 0: 4.
	StealScan int

	// Coroutines is the number of unused stacks a worker keeps for stackful
	// tasks. 0: 256.
	Coroutines int

	// Paused gives the runtime a virtual clock, for tests: its time stands still, and
	// goes to the next timer when nothing can run, so that an hour's Sleep takes no
	// time and a timer fires at its millisecond. (Tokio's start_paused.)
	//
	// Something can run while a task does or is queued, while a goroutine in Block has
	// been woken and has not polled yet, while a task's call of the package blocking
	// is not over, and while HoldClock says so. The clock does not wait for other
	// goroutines, nor for what is on its way in the kernel: what should happen in order
	// with its time belongs into tasks, which join others, or between HoldClock and
	// ReleaseClock. With one worker, the order in which tasks run is then always the
	// same too.
	//
	// As no time passes while a task runs, none is taken for a long one: a worker stuck
	// in a task is not relieved of what waits behind it, except what it offers to all.
	// Workers do not hold. Nothing but this runtime's time is virtual: not that of
	// package time, nor a context's deadline.
	Paused bool

	// NewDriver makes the driver of the worker with that index. It is called
	// on the worker's own locked thread. nil: no I/O.
	NewDriver func(worker int) (Driver, error)

	// Unlocked has workers with a driver share threads with other goroutines, as
	// those without one do: for tasks that mostly wake goroutines, which then need
	// no thread to be woken. The driver has to bear it, and its Poll to wait as
	// goroutines do. Nobody holds.
	Unlocked bool

	// Hooks are told what happens.
	Hooks Hooks

	// Logger hears of panics that become no task's result. nil: nobody does.
	Logger *slog.Logger

	// Workers have threads of their own, for their drivers' sake.
	ownThreads bool

	// There was no NewDriver: workers have nobody to look after but tasks.
	driverless bool

	// For tests: waits end by a wake-up alone, so that one that is lost hangs;
	// and queues of another size, a power of two.
	endless   bool
	queueSize int
}

func (cfg Config) withDefaults() Config {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Hold == 0 {
		cfg.Hold = time.Millisecond
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
	cfg.ownThreads = cfg.NewDriver != nil && !cfg.Unlocked
	cfg.driverless = cfg.NewDriver == nil
	if cfg.driverless {
		cfg.NewDriver = func(int) (Driver, error) { return newSleeper(), nil }
	}
	if !cfg.ownThreads { // a sleeper can do neither
		cfg.Hold, cfg.BusyPoll = -1, 0
	}
	cfg.endless = cfg.endless || testmode.EndlessParks.Load()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}
