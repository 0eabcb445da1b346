package sched

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine runs a runtime in virtual time on a given number of processors. Workers that compute
// share these evenly. Time passes only while each worker is within compute or waits in its driver.
// So the shares of processor time do not depend on the load of the real machine.
type machine struct {
	rt   *Runtime
	cpus int

	mu      sync.Mutex
	changed *sync.Cond
	workers []*simulated
	over    bool
	spent   [2]time.Duration   // computing time by class of task
	done    [][2]time.Duration // spent at the end of each heavy run
	look    time.Duration      // Runtime.Now of the next look for stuck workers
	ended   chan struct{}
}

// A simulated is the driver of a simulated worker.
type simulated struct {
	m      *machine
	resume chan struct{}

	// machine.mu guards these:
	still bool          // the worker computes or waits
	left  time.Duration // the rest of its computation; 0: it waits
	until time.Duration // Runtime.Now at which its wait ends
	wake  bool          // its next wait ends at once
}

// newMachine starts a runtime. move says whether stackful tasks move between workers.
func newMachine(t *testing.T, cpus, workers, spares int, move bool) *machine {
	t.Helper()
	m := &machine{cpus: cpus, ended: make(chan struct{})}
	m.changed = sync.NewCond(&m.mu)
	m.rt = New(Config{Workers: workers, Paused: true, AnyThread: move, NewDriver: func(int) (Driver, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		w := &simulated{m: m, resume: make(chan struct{}, 1)}
		m.workers = append(m.workers, w)
		return w, nil
	}})
	m.rt.cfg.Spares = spares
	m.rt.spares.limit.Store(int32(spares))
	require.NoError(t, m.rt.Start())
	go m.run()
	return m
}

// stop ends all tasks, and the runtime.
func (m *machine) stop(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	m.over = true
	for _, w := range m.workers {
		if w.left > 0 {
			w.left = 0
			w.goOn()
		}
	}
	m.mu.Unlock()
	require.NoError(t, m.rt.Close())
	<-m.ended
}

// A class of tasks.
type class int

const (
	light class = iota
	heavy
)

// compute makes the calling task compute for d. false: the task should end.
func (m *machine) compute(cx *Context, c class, d time.Duration) bool {
	w := cx.worker.driver.(*simulated)
	m.mu.Lock()
	if m.over {
		m.mu.Unlock()
		return false
	}
	w.left = d
	w.pause()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spent[c] += d; c == heavy {
		m.done = append(m.done, m.spent)
		m.changed.Broadcast()
	}
	return !m.over
}

// pause waits for goOn. The lock is held, and pause releases it.
func (w *simulated) pause() {
	w.still = true
	w.m.changed.Broadcast()
	w.m.mu.Unlock()
	<-w.resume
}

func (w *simulated) goOn() {
	w.still = false
	w.resume <- struct{}{}
}

func (w *simulated) Poll(_ *Context, wait time.Duration, _ bool) (int, error) {
	w.m.mu.Lock()
	if wait == 0 || w.wake {
		w.wake = false
		w.m.mu.Unlock()
		return 0, nil
	}
	w.until = never
	if wait > 0 {
		w.until = w.m.rt.Now() + wait
	}
	w.pause()
	return 0, nil
}

func (w *simulated) Wake() {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.still && w.left == 0 {
		w.goOn()
	} else {
		w.wake = true
	}
}

func (w *simulated) Close() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	i := slices.Index(w.m.workers, w)
	w.m.workers = slices.Delete(w.m.workers, i, i+1)
	w.m.changed.Broadcast()
	return nil
}

// Rescue implements Rescuer.
func (w *simulated) Rescue(*Context) int { return 0 }

// run advances time until all workers have ended.
func (m *machine) run() {
	defer close(m.ended)
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.workers) > 0 {
		if m.rt.spares.making.Load() || !m.step() {
			m.changed.Wait()
			continue
		}
		if m.rt.Now() < m.look {
			continue
		}
		m.mu.Unlock()
		m.rt.slow.look()
		m.mu.Lock()
		m.look = m.rt.Now() + lookWhileCalm
		if !m.rt.spares.calm() {
			m.look = m.rt.Now() + lookForStuck
		}
	}
}

// step advances time until the next event. false: some worker is neither computing nor waiting, or
// there is no event.
func (m *machine) step() bool {
	computing := 0
	for _, w := range m.workers {
		if !w.still {
			return false
		}
		if w.left > 0 {
			computing++
		}
	}
	if computing == 0 {
		return false
	}
	all, at := time.Duration(computing), time.Duration(min(computing, m.cpus)) // number of workers that compute, and of those at a time
	now := m.rt.Now()
	passes := max(0, m.look-now)
	for _, w := range m.workers {
		if w.left > 0 {
			passes = min(passes, (w.left*all+at-1)/at)
		} else {
			passes = min(passes, max(0, w.until-now))
		}
	}
	m.rt.clock.now.Add(int64(passes))
	for _, w := range m.workers {
		if w.left > 0 {
			if w.left -= passes * at / all; w.left < all { // the remainder of a division
				w.left = 0
				w.goOn()
			}
		} else if w.until <= now+passes {
			w.goOn()
		}
	}
	return true
}
