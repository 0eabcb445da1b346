package conn

import (
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/seldom"
)

// shortages counts how often the kernel lacked memory for a reactor's operations.
type shortages struct {
	n      atomic.Uint64
	logged seldom.Gate
}

// Shortages is how often the kernel refused to take a reactor's operations for want of
// memory (ENOMEM or ENOBUFS of io_uring_enter). Each time the worker paused for 1 to
// 16 ms and tried again; nothing was lost. Any goroutine.
func (g *Group) Shortages() uint64 { return g.shortages.n.Load() }

// watch counts the shortages of a configuration's reactors. One shortage a second is logged.
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
}
