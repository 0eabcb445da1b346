package sched

import (
	"runtime"
	"time"

	"golang.org/x/sys/cpu"
)

// lingerFor is how long a worker waits without parking for a wake that is expected: a few times
// what it costs a locked thread to give its processor away and get it back, if the other
// side has a processor of its own.
const lingerFor = 50 * time.Microsecond

// maxLinger bounds it where time stands still, as in a bubble of testing/synctest.
const maxLinger = 1 << 16

// maxLingerSkips bounds how many expectations in a row are passed over after those
// that came to nothing.
const maxLingerSkips = 64

// An expectation is a worker's own.
type expectation struct {
	soon    bool // a task waits for a wake that may come at once
	skips   int  // expectations to pass over after the next one that fails, doubling
	skipped int  // of them, those that are left
	_       cpu.CacheLinePad
}

// ExpectWake says that another goroutine, which has just been given something to do,
// is likely to wake the running task within microseconds. A worker that then has
// nothing to run looks out for that, for 50 µs at most, before it parks, as parking and
// being woken cost about as much. While such hopes are vain, fewer and fewer are
// entertained. It does nothing outside of tasks, nor in a process with one processor.
func (cx *Context) ExpectWake() {
	if cx.worker != nil {
		cx.rt.expected[cx.worker.index].soon = true
	}
}

// linger is the look-out. The worker is not announced as parked: what is meant for it
// shows in its parker without a call of its driver, and what anybody may run, and would
// have had a parked worker claimed, in the global queue.
func (w *worker) linger() {
	e := &w.rt.expected[w.index]
	if !e.soon {
		return
	}
	e.soon = false
	if e.skipped > 0 {
		e.skipped--
		return
	}
	if runtime.GOMAXPROCS(0) == 1 {
		return
	}
	began := time.Now() // a virtual clock stands still
	for spins := 1; spins < maxLinger; spins++ {
		if w.parker.state.Load() != unparked || w.rt.global.len.Load() > 0 || w.rt.stopping.Load() {
			e.skips = 0
			return
		}
		if spins%64 == 0 && time.Since(began) > lingerFor {
			break
		}
	}
	e.skips = min(maxLingerSkips, 2*e.skips+1)
	e.skipped = e.skips
}

// Alone reports that the task's worker has nothing else to run: waiting for a
// microsecond then holds up nobody. Outside of a worker it does.
func (cx *Context) Alone() bool {
	w := cx.worker
	return w == nil || !w.hasWork() && w.inbox.len.Load() == 0 && w.rt.global.len.Load() == 0
}
