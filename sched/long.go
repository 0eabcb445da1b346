package sched

import "time"

// A long task is one whose last run took longLimit or more. It is likely to take as long again, and
// all tasks behind it would wait. So it does not run in order. It goes to a shared queue. Any
// worker takes one from there when its other tasks are done, after it has submitted the I/O that
// they queued. A pinned long task waits on its own worker, which alternates between pinned and
// shared long tasks. Time in which the thread waited for a processor does not count (starved.go).
// Tasks are timed only for timeAfterSlowTick after a tick that has taken so long, and for
// timeAfterLong after a long task has run.
//
// A worker that always has other tasks runs these for as long as the last long task took, and then
// the next long one. So the other tasks have half of the worker's time. While it is in a long
// task, a spare worker may run others. So long tasks have at least a quarter of the processors'
// time, even if the two workers share one processor.
const (
	longLimit         = time.Millisecond
	mostPause         = time.Second // bounds the wait of long tasks after one that blocked for long
	timeAfterLong     = time.Second
	timeAfterSlowTick = 200 * time.Millisecond
)

// longTasks is a worker's state about long tasks. Only the worker's goroutine uses it.
type longTasks struct {
	timing   bool          // tasks are timed, to find long ones
	until    time.Duration // timing lasts at least until then
	turn     bool          // a long task may run now
	ran      bool          // the last run that was timed was long
	lastRun  time.Duration // when the last run that was timed ended, or else the tick began
	lastTurn time.Duration // when the last long task's run ended
	pause    time.Duration // for this long after lastTurn, other tasks go first
	pinned   taskList      // long tasks that only this worker may run
	others   bool          // the next long task comes from the shared queue, not from pinned
}

// suspect begins or ends the timing of tasks, after a tick that has taken so long.
func (w *worker) suspect(took time.Duration) {
	if took >= longLimit {
		w.long.until, w.long.timing = max(w.long.until, w.now+timeAfterSlowTick), true
	} else if w.long.timing {
		w.long.timing = w.now < w.long.until
	}
}

// timeRun measures the task's run. It was the tick's run number ran, counted from 0.
func (w *worker) timeRun(t *Task, ran int) {
	now := w.rt.Now()
	began, again := w.began(ran), t.long
	t.long = now-began >= longLimit && now-began-w.waited() >= longLimit
	if again && t.long {
		w.rt.spares.raiseEarly(now)
	}
	w.long.ran = t.long
	w.countSlow(began, now, w.slow.away, w.wasReported())
	if w.acknowledge() && t.long {
		w.long.until, w.long.timing = max(w.long.until, now+timeAfterSlowTick), true
	}
	w.timesFrom(now, ran+1)
}

// timesFrom records when the tick's run number ran begins, counted from 0.
func (w *worker) timesFrom(now time.Duration, ran int) {
	w.long.lastRun, w.slow.ran, w.slow.away, w.slow.startUnknown = now, ran, 0, false
}

// setAside makes a long task wait until long tasks may run.
func (w *worker) setAside(t *Task) bool {
	if t.home == w {
		w.long.pinned.push(t)
		return true
	}
	if t.home != nil || !w.rt.long.push(t) {
		return false
	}
	w.rt.notify()
	return true
}

// longDue reports that a long task may run now.
func (w *worker) longDue() bool {
	return w.hasLong() && (w.pauseIsOver(w.now) || !w.hasWork() && !w.stealShort())
}

// stealShort takes tasks from workers where they wait, for example behind a long task.
func (w *worker) stealShort() bool {
	for _, v := range w.rt.team() {
		if v != w && v.offers() && w.takeFrom(&v.queue) {
			w.rt.notify() // during the move the tasks were visible nowhere
			return true
		}
	}
	return false
}

func (w *worker) pauseIsOver(now time.Duration) bool { return now-w.long.lastTurn >= w.long.pause }

// longCutsIn reports, after a run that was timed, that a long task may run before the tick is
// over.
func (w *worker) longCutsIn() bool {
	return !w.long.turn && w.hasLong() && w.pauseIsOver(w.long.lastRun)
}

// hasLong reports that there is a long task that this worker may run.
func (w *worker) hasLong() bool {
	return w.long.pinned.head != nil || w.rt.long.len.Load() > 0 && w.mayRunLong()
}

// takeLong takes the next long task; nil: another worker has taken it.
func (w *worker) takeLong() *Task {
	w.long.others = !w.long.others
	if w.long.others && w.mayRunLong() {
		if t := w.rt.long.pop(); t != nil {
			return t
		}
	}
	if t := w.long.pinned.pop(); t != nil {
		return t
	}
	if !w.mayRunLong() {
		return nil
	}
	return w.rt.long.pop()
}

// runLong runs a long task. Queued I/O and waiting tasks must not wait for it: the I/O is
// submitted first, and the tasks are offered to other workers.
func (w *worker) runLong() error {
	_, err := w.driver.Poll(&w.cx, 0, false)
	if err != nil {
		return err
	}
	t := w.takeLong()
	if t == nil {
		return nil
	}
	if w.first != nil {
		w.enqueue(w.first)
	}
	if w.hasWork() {
		w.offer()
	}
	w.now, w.nowStale = w.rt.Now(), false
	w.tickAt.Store(int64(w.now))
	w.acknowledge()
	w.timesFrom(w.now, 0)
	began := w.now
	w.first, w.long.turn = t, true
	w.runTasks(1)
	w.long.turn = false
	w.now = w.rt.Now()
	w.tickTook(w.now-began, 1)
	w.long.lastTurn, w.long.pause = w.now, min(w.now-began, mostPause)
	if w.long.ran { // t may belong to another task by now
		w.long.until, w.long.timing = w.now+timeAfterLong, true
	}
	return nil
}
