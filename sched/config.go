package sched

import (
	"log/slog"
	"runtime"
	"time"
)

// A Config describes a runtime. The zero value is one without I/O.
type Config struct {
	// Workers is the number of workers. 0: GOMAXPROCS.
	Workers int

	// Hold is how long a worker that has run out of work waits with its
	// processor kept before it blocks, at most: a second. Longer spares more
	// hand-overs of the processor, and timer interrupts, of which a shorter
	// one has more; a goroutine that becomes ready meanwhile, and finds no
	// other processor, waits as long. It is not done while goroutines are
	// waiting already. 0: 1 ms. Negative: not at all.
	Hold time.Duration

	// NewDriver makes the driver of the worker with that index. It is called
	// on the worker's own locked thread. nil: no I/O.
	NewDriver func(worker int) (Driver, error)

	// Logger hears of panics that escape a task. nil: nobody does.
	Logger *slog.Logger
}

func (cfg Config) withDefaults() Config {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Hold == 0 {
		cfg.Hold = time.Millisecond
	}
	cfg.Hold = min(cfg.Hold, time.Second)
	if cfg.NewDriver == nil {
		cfg.NewDriver = func(int) (Driver, error) { return newSleeper(), nil }
		cfg.Hold = -1 // a sleeper cannot hold
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}
