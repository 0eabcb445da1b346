package load

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	inEvents  = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	outEvents = unix.EPOLLOUT
)

// stall is for how long nothing may come back before the run has failed.
const stall = 10 * time.Second

// A generator makes load.
type generator interface {
	turn() error                    // waits, at most a second, and does what there is to do
	progress() (count, bytes int64) // since it began
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
	if r.Count == 0 {
		return Result{}, errors.New("load: nothing came back")
	}
	return r, nil
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
