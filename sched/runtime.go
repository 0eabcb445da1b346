package sched

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/timer"
)

// ErrClosed is what is returned for work given to a runtime that has closed.
var ErrClosed = errors.New("sched: runtime closed")

// A Runtime is a set of workers. Make one with New. There may be any number in
// a process.
type Runtime struct {
	cfg      Config
	epoch    time.Time
	workers  []*worker
	timers   timers
	nextHome atomic.Uint32

	startOnce sync.Once
	startErr  error
	started   chan struct{} // closed when every driver is there, or on the way out
	stopping  atomic.Bool
	stopped   chan struct{} // closed when every worker has ended
	running   sync.WaitGroup

	failMu sync.Mutex
	failed error // the first driver error
}

// New returns a runtime whose workers are not started yet.
func New(cfg Config) *Runtime {
	rt := &Runtime{
		cfg:     cfg.withDefaults(),
		epoch:   time.Now(),
		started: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	rt.timers.wheel = timer.New(0)
	rt.timers.next.Store(never)
	for i := range rt.cfg.Workers {
		w := &worker{rt: rt, index: i}
		w.cx.worker = w
		rt.workers = append(rt.workers, w)
	}
	return rt
}

// Workers is the number of workers.
func (rt *Runtime) Workers() int { return len(rt.workers) }

// Now is the time since New, by the monotonic clock: the runtime's time.
func (rt *Runtime) Now() time.Duration { return time.Since(rt.epoch) }

// Time is the wall clock's time, with a monotonic reading, at a runtime's time.
func (rt *Runtime) Time(at time.Duration) time.Time { return rt.epoch.Add(at) }

// At is the runtime's time at t: the reverse of Time.
func (rt *Runtime) At(t time.Time) time.Duration { return t.Sub(rt.epoch) }

// Start starts the workers, if that has not happened, and returns the error of
// a driver that could not be made; then no worker runs. The first spawn calls
// it. After Close it returns ErrClosed.
func (rt *Runtime) Start() error {
	rt.startOnce.Do(func() {
		ready := make(chan error, len(rt.workers))
		rt.running.Add(len(rt.workers))
		for _, w := range rt.workers {
			go func() {
				defer rt.running.Done()
				w.run(ready)
			}()
		}
		for range rt.workers {
			if err := <-ready; rt.startErr == nil {
				rt.startErr = err // the others' would say the same
			}
		}
		if rt.startErr != nil {
			rt.stopping.Store(true)
		}
		close(rt.started)
		go func() {
			rt.running.Wait()
			close(rt.stopped)
		}()
	})
	if rt.startErr == nil && rt.stopping.Load() {
		return ErrClosed
	}
	return rt.startErr
}

// Close stops the workers, each at the end of its tick (at most 128 runs of
// tasks later), and waits for them. Tasks that are not done are abandoned:
// whoever waits for one gets ErrClosed. It returns the error that ended a worker
// early, if one did. It must not be called by a task of this runtime.
func (rt *Runtime) Close() error {
	rt.startOnce.Do(func() { // never started: there is nobody to wait for
		rt.stopping.Store(true)
		rt.startErr = ErrClosed
		close(rt.started)
		close(rt.stopped)
	})
	rt.stop()
	<-rt.stopped
	rt.failMu.Lock()
	defer rt.failMu.Unlock()
	return rt.failed
}

// Done is closed when the workers have ended: after Close, or after a driver's
// error, which Close then returns.
func (rt *Runtime) Done() <-chan struct{} { return rt.stopped }

// stop sets the flag before it unparks: a worker that parks after the flag is
// set sees it or is woken.
func (rt *Runtime) stop() {
	<-rt.started
	rt.stopping.Store(true)
	if rt.startErr != nil {
		return
	}
	for _, w := range rt.workers {
		w.unpark()
	}
}

func (rt *Runtime) fail(err error) {
	rt.failMu.Lock()
	if rt.failed == nil {
		rt.failed = err
	}
	rt.failMu.Unlock()
	rt.cfg.Logger.Error("sched: stopping", "error", err)
	rt.stop()
}

func (rt *Runtime) spawn(t *Task, body Body) error {
	if err := rt.Start(); err != nil {
		return err
	}
	t.Init(rt, int(rt.nextHome.Add(1)%uint32(len(rt.workers))), body)
	t.Wake()
	return nil
}
