package conn

import (
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/seldom"
)

// shortages counts how often the kernel lacked memory for a reactor's operations.
type shortages struct {
	n      atomic.Uint64
	logged seldom.Limiter

	dropped atomic.Uint64 // completions

	overflows atomic.Uint64 // of queues of completions
	lost      seldom.Limiter
}

// Shortages is how often the kernel refused to take a reactor's operations for want of
// memory (ENOMEM or ENOBUFS of io_uring_enter). Each time the worker paused for 1 to
// 16 ms and tried again; nothing was lost. Any goroutine.
func (g *Group) Shortages() uint64 { return g.shortages.n.Load() }

// Dropped is how many completions the kernel has dropped for want of memory (io_uring). Each
// drop resets the connections of one worker; OnClose gets an error that matches ENOMEM. A
// connection that was accepted at that moment may stay open without a handler. Any goroutine.
func (g *Group) Dropped() uint64 { return g.shortages.dropped.Load() }

// watch counts the shortages and drops of a configuration's reactors. One of each is logged a
// second.
func (s *shortages) watch(cfg *Config) {
	next, log := cfg.Reactor.OnShortage, cfg.Logger
	cfg.Reactor.OnShortage = func(err error, pause time.Duration) {
		n := s.n.Add(1)
		if s.logged.Pass(time.Now()) {
			log.Warn("conn: the kernel lacks memory for operations, trying again", "in", pause, "times", n, "error", err)
		}
		if next != nil {
			next(err, pause)
		}
	}
	full := cfg.Reactor.OnOverflow
	cfg.Reactor.OnOverflow = func() {
		s.overflows.Add(1)
		if full != nil {
			full()
		}
	}
	lost := cfg.Reactor.OnLoss
	cfg.Reactor.OnLoss = func(dropped, ended int) {
		n := s.dropped.Add(uint64(dropped))
		if s.lost.Pass(time.Now()) {
			log.Error("conn: the kernel lacked memory and dropped completions, so a worker's connections "+
				"were reset; raise the memory limit, or use epoll", "operations", ended, "dropped", n)
		}
		if lost != nil {
			lost(dropped, ended)
		}
	}
}
