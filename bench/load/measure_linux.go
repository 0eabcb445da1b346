package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	endEvents = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	inEvents  = unix.EPOLLIN | endEvents
	outEvents = unix.EPOLLOUT
)

// stall is for how long nothing may come back before the run has failed. Tests shorten it.
var stall = 10 * time.Second

// A generator makes load.
type generator interface {
	turn() error                    // waits, at most a second, and does what there is to do
	progress() (count, bytes int64) // since it began
	stop()                          // it begins nothing more
	open() int                      // how much that was begun has not come back
}

// measure runs a generator through its warm-up and the measurement.
func measure(cfg Config, g generator) (Result, error) {
	if err := spin(g, cfg.Warmup); err != nil {
		return Result{}, err
	}
	cpu, err := serverCPU(cfg.PID)
	if err != nil {
		return Result{}, err
	}
	count, bytes := g.progress()
	began := time.Now()
	if err := spin(g, cfg.For); err != nil {
		return Result{}, err
	}
	elapsed := time.Since(began)
	after, err := serverCPU(cfg.PID)
	if err != nil {
		return Result{}, err
	}
	r := Result{Elapsed: elapsed, CPU: after - cpu}
	r.Count, r.Bytes = g.progress()
	r.Count -= count
	r.Bytes -= bytes
	err = drain(g) // first: what never comes says more than what has not come yet
	if err == nil && r.Count == 0 {
		err = fmt.Errorf("load: nothing came back whole in %v, only %d bytes; all came later", elapsed, r.Bytes)
	}
	return r, err
}

// drain waits for all that is under way: what never comes back would not show while others do.
func drain(g generator) error {
	g.stop()
	_, before := g.progress()
	for alive := time.Now(); g.open() > 0; {
		if err := g.turn(); err != nil {
			return err
		}
		if _, bytes := g.progress(); bytes != before {
			before, alive = bytes, time.Now()
		} else if time.Since(alive) > stall {
			return fmt.Errorf("load: %d never came back", g.open())
		}
	}
	return nil
}

func serverCPU(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	return ProcessCPU(pid)
}

func spin(g generator, d time.Duration) error {
	began := time.Now()
	_, before := g.progress()
	for alive := began; time.Since(began) < d; {
		if err := g.turn(); err != nil {
			return err
		}
		if _, bytes := g.progress(); bytes != before {
			before, alive = bytes, time.Now()
		} else if time.Since(alive) > stall {
			return fmt.Errorf("load: nothing came back for %v", stall)
		}
	}
	return nil
}
