package sched

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/timer"
)

// A Runtime is a set of workers. Make one with New. A process may have any number of them.
type Runtime struct {
	cfg     Config
	real    bool // New was not called in a bubble of testing/synctest, so the runtime's time is real
	inside  bool // the workers are in such a bubble; set by the start
	epoch   time.Time
	workers []*worker
	spares  spares
	global  globalQueue
	long    globalQueue // long tasks (long.go)
	idle    idleState
	timers  timers
	clock   clock
	monitor monitor
	slow    slowWatch
	depots  depots
	probes  probes
	shares  utilization
	stacks  sharedStacks
	wander  *wander // nil: tasks run on the worker that takes them

	contexts    taskContexts
	inspections inspections

	hooked        bool         // there are hooks for tasks
	debug         *slog.Logger // of SUIRO_DEBUG=sched; nil: none
	spawnedRemote atomic.Uint64
	panics        atomic.Uint64 // see Stats.Panics
	lastID        atomic.Uint64

	startOnce sync.Once
	startErr  error
	started   chan struct{} // closed when every driver has been made or has failed
	stopping  atomic.Bool
	stopped   chan struct{}  // closed when every worker and every task has ended
	inLoops   atomics.Int32  // workers that have not left their loops
	looping   sync.WaitGroup // workers that may still run tasks
	running   sync.WaitGroup // workers that have not ended

	leaving CancellationToken
	drain   drain

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
		drain:   drain{done: make(chan struct{})},
	}
	rt.debug = rt.cfg.newDebug()
	rt.leaving.done = make(chan struct{}) // made here: the first caller may be in a bubble, and workers may close it
	rt.timers.wheel = timer.New(0)
	rt.timers.next.Store(never)
	rt.clock.paused = rt.cfg.Paused
	rt.hooked = rt.cfg.Hooks.ofTasks()
	rt.idle.init(rt.cfg.Workers)
	for i := range rt.cfg.Workers {
		rt.workers = append(rt.workers, newWorker(rt, i))
	}
	if testmode.Wander.Load() {
		rt.wander = &wander{last: make(map[*Task]*worker)}
	}
	rt.spares.init(rt)
	rt.slow.init(rt)
	return rt
}

// Workers is the number of workers, without spare workers.
func (rt *Runtime) Workers() int { return len(rt.workers) }

// Spares is the maximum number of spare workers: see Config.Spares. Their indices follow those of
// the workers.
func (rt *Runtime) Spares() int { return rt.cfg.Spares }

// Now is the runtime's time: the time since New, by the monotonic clock. With Config.Paused it is
// the time of the virtual clock, which begins at 0. In a bubble of testing/synctest it is the
// bubble's time if New was called there, otherwise real time. In the latter case a call from the
// bubble costs a switch to another goroutine and back.
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

// Time converts a runtime's time to the time of the wall clock, with a monotonic reading.
func (rt *Runtime) Time(at time.Duration) time.Time { return rt.epoch.Add(at) }

// At converts t to the runtime's time. It is the reverse of Time.
func (rt *Runtime) At(t time.Time) time.Duration {
	at := t.Sub(rt.epoch)
	if at < 0 && rt.real {
		at = bubble.Real(t).Sub(rt.epoch)
	}
	return at
}

// Start starts the workers unless they have been started. If a driver could not be made, it
// returns that error, and no worker runs. The first spawn calls Start. After Close it returns
// ErrClosed.
//
// In a bubble of testing/synctest the workers are goroutines of the bubble if New was called there
// or Config.NewDriver is set.
func (rt *Runtime) Start() error {
	rt.startOnce.Do(func() {
		if rt.real && rt.cfg.driverless {
			bubble.Outside(rt.start)
		} else { // a driver's tasks call functions of the user, which must run in the user's bubble
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
	if rt.inside {
		rt.spares.limit.Store(0) // their goroutines would belong to no bubble
	}
	ready := make(chan error, len(rt.workers))
	rt.running.Add(len(rt.workers))
	rt.looping.Add(len(rt.workers))
	rt.inLoops.Store(int32(len(rt.workers)))
	for _, w := range rt.workers {
		go func() {
			defer rt.running.Done()
			w.run(ready)
		}()
	}
	for range rt.workers {
		if err := <-ready; rt.startErr == nil {
			rt.startErr = err // the errors of the others would say the same
		}
	}
	if rt.startErr != nil {
		rt.stopping.Store(true)
	}
	if rt.startErr == nil { // otherwise its timer would take descriptors; if there are none left, Go ends the process
		rt.slow.start()
	}
	close(rt.started)
	release := func() {}
	if rt.inside && rt.real { // each tick asks for the time outside the bubble
		release = bubble.Hold()
	}
	go func() {
		unlabel()
		rt.running.Wait()
		rt.slow.looks.end()
		rt.spares.end()
		rt.endTasks()
		release()
	}()
}

// worker is the worker with that index, modulo their number.
func (rt *Runtime) worker(index int) *worker {
	return rt.workers[uint(index)%uint(len(rt.workers))] // a counter may have wrapped around to below 0
}

// inject queues a task from outside the workers. false: the runtime has closed.
func (rt *Runtime) inject(t *Task) bool {
	if !rt.global.push(t) {
		return false
	}
	rt.notify()
	return true
}

// notify makes a parked worker search for queued work, unless a worker already searches.
func (rt *Runtime) notify() {
	if i := rt.idle.claim(); i >= 0 {
		rt.workers[i].unpark()
	}
}

func (rt *Runtime) where() (*Runtime, *worker, error) { return rt, nil, nil }
