package load

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	endEvents = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	inEvents  = unix.EPOLLIN | endEvents
	outEvents = unix.EPOLLOUT
)

// longestWait is how long a generator waits for events at most.
const longestWait = time.Second

// stall is for how long nothing may come back before the run has failed. Tests shorten it.
var stall = 10 * time.Second

// A generator makes load.
type generator interface {
	turn() error                          // waits, at most longestWait, and processes the events
	progress() (count, slow, bytes int64) // since it began
	window(d time.Duration)               // what it measures begins, for so long
	stop()                                // it begins nothing more
	open() int                            // how much that was begun has not come back
}

// ErrNothing says that there is nothing to divide by: the server, or the load, may have had no CPU
// in that time.
var ErrNothing = errors.New("load: nothing came back whole")

// measure runs a generator through its warm-up and the measurement.
func measure(cfg Config, g generator) (Result, error) {
	if err := spin(g, cfg.Warmup); err != nil {
		return Result{}, err
	}
	g.window(cfg.For)
	before, err := use(cfg.PID)
	if err != nil {
		return Result{}, err
	}
	count, slow, bytes := g.progress()
	began := time.Now()
	if err := spin(g, cfg.For); err != nil {
		return Result{}, err
	}
	elapsed := time.Since(began)
	after, err := use(cfg.PID)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Elapsed: elapsed, CPU: after.cpu - before.cpu, User: after.user - before.user, System: after.system - before.system,
		LoadCPU: after.own - before.own, Resident: after.resident,
	}
	r.Count, r.Slow, r.Bytes = g.progress()
	r.Count -= count
	r.Slow -= slow
	r.Bytes -= bytes
	err = drain(g) // first: a message that never comes back says more than a late one
	if err == nil && r.Count == 0 {
		err = fmt.Errorf("%w in %v, only %d bytes; all came later", ErrNothing, elapsed, r.Bytes)
	}
	return r, err
}

// drain waits for all messages in flight: a lost message would not show while others come back.
func drain(g generator) error {
	g.stop()
	_, _, before := g.progress()
	for alive := time.Now(); g.open() > 0; {
		if err := g.turn(); err != nil {
			return err
		}
		if _, _, bytes := g.progress(); bytes != before {
			before, alive = bytes, time.Now()
		} else if time.Since(alive) > stall {
			return fmt.Errorf("load: %d never came back", g.open())
		}
	}
	return nil
}

func spin(g generator, d time.Duration) error {
	began := time.Now()
	_, _, before := g.progress()
	for alive := began; time.Since(began) < d; {
		if err := g.turn(); err != nil {
			return err
		}
		if _, _, bytes := g.progress(); bytes != before {
			before, alive = bytes, time.Now()
		} else if time.Since(alive) > stall && g.open() > 0 {
			return fmt.Errorf("load: nothing came back for %v", stall)
		}
	}
	return nil
}
