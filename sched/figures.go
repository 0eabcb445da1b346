package sched

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/owned"
)

// PollRanges is the number of ranges in WorkerStats.PollEvents.
const PollRanges = 8

// sampleEvery: one run in so many is timed, and one wake-up in so many. A clock reading costs some
// 20 ns. The timed one counts as so many, so that sums and counts are about those of all.
const sampleEvery = 32

// figures are a worker's histograms, in nanoseconds. The worker's goroutine owns them.
type figures struct {
	runs   owned.Histogram // runs of tasks
	delays owned.Histogram // waits of woken tasks until they run
	ticks  owned.Histogram // ticks with tasks: an event that arrives waits for the rest of one
}

// A meter times some runs and wake-ups, and the worker's busy time. Only the worker's goroutine
// uses it.
type meter struct {
	*figures
	untilRun  int           // runs until one is timed
	untilWake int           // wake-ups until one is timed
	runBegan  time.Duration // when the timed run began
	busySince time.Duration // the busy time until then is in WorkerStats.Busy
	idle      bool          // the worker waits in its driver, or has waited and not read the clock since
	fresh     bool          // worker.now was read after the tick's runs
}

func (m *meter) init() {
	m.figures, m.untilRun, m.untilWake = new(figures), sampleEvery, sampleEvery
}

// beginRun is called before each run.
func (w *worker) beginRun(t *Task) {
	if t.probe != 0 {
		w.endProbe(t)
	}
	if w.meter.untilRun--; w.meter.untilRun <= 0 {
		w.meter.runBegan = w.rt.Now()
	}
}

// endRun is called after each run that has returned.
func (w *worker) endRun() {
	if m := &w.meter; m.untilRun <= 0 {
		m.untilRun = sampleEvery
		m.runs.Record(nanoseconds(w.rt.Now()-m.runBegan), sampleEvery)
	}
}

// wakes is called for each task that the worker's goroutine queues because it was woken.
func (w *worker) wakes(t *Task) {
	if w.meter.untilWake--; w.meter.untilWake <= 0 {
		w.meter.untilWake = sampleEvery
		w.rt.probes.begin(t, w.rt.Now())
	}
}

func (w *worker) endProbe(t *Task) {
	w.meter.delays.Record(nanoseconds(w.rt.Now()-w.rt.probes.end(t)), sampleEvery)
}

// beginIdle is called when the worker is about to wait in its driver.
func (w *worker) beginIdle() {
	if !w.meter.fresh {
		w.now = w.rt.Now()
	}
	w.addBusy()
	w.meter.idle = true
}

// endIdle is called when a tick has read the clock.
func (w *worker) endIdle() {
	if w.meter.idle {
		w.meter.idle, w.meter.busySince = false, w.now
	}
}

func (w *worker) addBusy() {
	if !w.meter.idle && w.now > w.meter.busySince {
		w.count.Busy += w.now - w.meter.busySince
		w.meter.busySince = w.now
	}
}

// countPoll counts a poll with n events.
func (w *worker) countPoll(n int) {
	w.count.Events += uint64(n)
	w.count.PollEvents[min(bits.Len(uint(n)), PollRanges-1)]++
}

// tickTook is called for measured ticks with tasks. The tick counts for those that were not
// measured.
func (w *worker) tickTook(d time.Duration, ticks int) {
	w.meter.ticks.Record(nanoseconds(d), uint64(ticks))
}

func nanoseconds(d time.Duration) uint64 { return uint64(max(0, d)) }

// probes time the waits of woken tasks. A Task has room for the number of a probe, and not for a
// time.
//
// The goroutine that queues a task writes Task.probe before, and the worker that runs the task
// reads it after: the queue orders the two. So a probe has one user at a time, who returns its bit
// to free. Tasks that are dropped when the runtime ends keep their probes.
type probes struct {
	used   atomic.Uint64 // a bit for each probe
	began  [64]atomic.Int64
	remote atomic.Uint64 // wake-ups from outside the workers
}

// begin gives a task a probe, if there is one.
func (p *probes) begin(t *Task, now time.Duration) {
	used := p.used.Load()
	i := bits.TrailingZeros64(^used)
	if i == 64 || !p.used.CompareAndSwap(used, used|1<<i) {
		return
	}
	p.began[i].Store(int64(now))
	t.probe = uint8(i + 1)
}

// end takes the task's probe, and returns when it began.
func (p *probes) end(t *Task) time.Duration {
	i := t.probe - 1
	t.probe = 0
	began := time.Duration(p.began[i].Load())
	p.used.And(^(uint64(1) << i))
	return began
}

// fromOutside is called for each task that is queued from outside the workers.
func (p *probes) fromOutside(t *Task, rt *Runtime) {
	if p.remote.Add(1)%sampleEvery == 0 {
		p.begin(t, rt.Now())
	}
}

// utilization computes the workers' shares of busy time over about the last second, or longer if
// nobody has asked.
type utilization struct {
	mu          sync.Mutex
	old, recent []busyMark
}

type busyMark struct{ at, busy time.Duration }

const utilizationOver = time.Second

// of returns the shares, for the busy times until now. Workers may have been added at the end.
func (u *utilization) of(now time.Duration, busy []time.Duration) []float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	marks := make([]busyMark, len(busy))
	shares := make([]float64, len(busy))
	for i, b := range busy {
		marks[i] = busyMark{now, b}
		var since busyMark
		if i < len(u.old) {
			since = u.old[i]
		}
		if now > since.at {
			shares[i] = min(1, max(0, float64(b-since.busy)/float64(now-since.at)))
		}
	}
	if len(u.recent) == 0 || now-u.recent[0].at >= utilizationOver {
		u.old, u.recent = u.recent, marks
	}
	return shares
}
