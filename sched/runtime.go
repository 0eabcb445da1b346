package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/timer"
)

// A Runtime is a set of workers. Make one with New. There may be any number in
// a process.
type Runtime struct {
	cfg     Config
	real    bool // New was not called in a bubble of testing/synctest: its time is real
	inside  bool // the workers are in one; set with the start
	epoch   time.Time
	workers []*worker
	global  globalQueue
	long    globalQueue // long tasks (long.go)
	idle    idleState
	timers  timers
	clock   clock
	watch   watch
	depots  depots

	hooked        bool // there are hooks for tasks
	spawnedRemote atomic.Uint64
	lastID        atomic.Uint64

	startOnce sync.Once
	startErr  error
	started   chan struct{} // closed when every driver is there, or on the way out
	stopping  atomic.Bool
	stopped   chan struct{}  // closed when every worker has ended, and every task
	looping   sync.WaitGroup // workers that may still run tasks
	running   sync.WaitGroup // workers that have not ended

	draining atomic.Bool   // Shutdown waits for tasks to end
	late     atomic.Uint64 // tasks spawned since then
	ended    chan struct{} // and hears of it here

	failMu sync.Mutex
	failed error // the first driver error
}

// New returns a runtime whose workers are not started yet.
func New(cfg Config) *Runtime {
	rt := &Runtime{
		cfg:     cfg.withDefaults(),
		real:    !bubble.In(),
		epoch:   time.Now(),
		started: make(chan struct{}),
		stopped: make(chan struct{}),
		ended:   make(chan struct{}, 1),
	}
	rt.timers.wheel = timer.New(0)
	rt.timers.next.Store(never)
	rt.clock.paused = rt.cfg.Paused
	rt.hooked = rt.cfg.Hooks.ofTasks()
	rt.idle.init(rt.cfg.Workers)
	for i := range rt.cfg.Workers {
		rt.workers = append(rt.workers, newWorker(rt, i))
	}
	return rt
}

// Workers is the number of workers.
func (rt *Runtime) Workers() int { return len(rt.workers) }

// Now is the time since New, by the monotonic clock: the runtime's time. With
// Config.Paused it is the virtual clock's, which begins with 0. In a bubble of testing/synctest it
// is the bubble's time if New was called there, else real time: that costs a bubble's goroutine a
// switch to another goroutine and back.
func (rt *Runtime) Now() time.Duration {
	if rt.clock.paused {
		return time.Duration(rt.clock.now.Load())
	}
	now := time.Since(rt.epoch)
	if now < 0 && rt.real { // in a bubble, where it is the year 2000
		return rt.realNow()
	}
	return now
}

func (rt *Runtime) realNow() (now time.Duration) {
	bubble.Outside(func() { now = time.Since(rt.epoch) })
	return now
}

// Time is the wall clock's time, with a monotonic reading, at a runtime's time.
func (rt *Runtime) Time(at time.Duration) time.Time { return rt.epoch.Add(at) }

// At is the runtime's time at t: the reverse of Time.
func (rt *Runtime) At(t time.Time) time.Duration {
	at := t.Sub(rt.epoch)
	if at < 0 && rt.real {
		at = bubble.Real(t).Sub(rt.epoch)
	}
	return at
}

// Start starts the workers, if that has not happened, and returns the error of
// a driver that could not be made; then no worker runs. The first spawn calls
// it. After Close it returns ErrClosed.
//
// In a bubble of testing/synctest the workers are goroutines of the bubble, if New was called there
// or there is a Config.NewDriver.
func (rt *Runtime) Start() error {
	rt.startOnce.Do(func() {
		if rt.real && rt.cfg.driverless {
			bubble.Outside(rt.start)
		} else { // a driver's tasks call functions of the user, which are to be where that is
			rt.start()
		}
	})
	if rt.startErr == nil && rt.stopping.Load() {
		return ErrClosed
	}
	return rt.startErr
}

func (rt *Runtime) start() {
	rt.inside = bubble.In()
	ready := make(chan error, len(rt.workers))
	rt.running.Add(len(rt.workers))
	rt.looping.Add(len(rt.workers))
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
	release := func() {}
	if rt.inside && rt.real { // each tick asks for the time outside
		release = bubble.Hold()
	}
	go func() {
		rt.running.Wait()
		rt.endTasks()
		release()
	}()
}

// worker is the one with that index, modulo their number.
func (rt *Runtime) worker(index int) *worker {
	return rt.workers[uint(index)%uint(len(rt.workers))] // a counter may have wrapped around to below 0
}

// inject queues a task from outside the workers; false: the runtime has closed.
func (rt *Runtime) inject(t *Task) bool {
	if !rt.global.push(t) {
		return false
	}
	rt.notify()
	return true
}

// notify has a parked worker look for work that has been queued, unless one is
// looking.
func (rt *Runtime) notify() {
	if i := rt.idle.claim(); i >= 0 {
		rt.workers[i].unpark()
	}
}

func (rt *Runtime) where() (*Runtime, *worker) { return rt, nil }
