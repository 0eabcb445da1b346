package sched

import "time"

// A long task, one whose last run took longLimit or more, is likely to take long
// again, and everything behind it would wait. So it does not run in its turn. It
// goes to a queue from which any worker takes one when its other tasks are done,
// and after it has submitted what they queued. Tasks are timed only for suspectFor
// after a tick that has taken so long, and for waryFor after a long task's turn.
const (
	longLimit  = time.Millisecond
	longEvery  = 5 * time.Millisecond // a worker that is never done with the others runs one as often as this
	waryFor    = time.Second
	suspectFor = 200 * time.Millisecond
)

// longTasks is what a worker knows of them. Its goroutine alone uses it.
type longTasks struct {
	wary     bool          // tasks are timed, to find those that are long:
	until    time.Duration // until then at least
	turn     bool          // a long task may run now
	ran      bool          // the last run that was timed was long
	lastRun  time.Duration // when the last run of a task ended, while wary
	lastTurn time.Duration // when a long task's turn last ended
}

// suspect begins or ends the timing of tasks, after a tick that has taken so long.
func (w *worker) suspect(took time.Duration) {
	if took >= longLimit {
		w.long.until, w.long.wary = max(w.long.until, w.now+suspectFor), true
	} else if w.long.wary {
		w.long.wary = w.now < w.long.until
	}
}

// timeRun notes how long the task's run took.
func (w *worker) timeRun(t *Task) {
	now := w.rt.Now()
	t.long = now-w.long.lastRun >= longLimit
	w.long.ran = t.long
	w.long.lastRun = now
}

// setAside has a long task wait for its turn. One that is pinned stays here.
func (w *worker) setAside(t *Task) bool {
	if t.home != nil || !w.rt.long.push(t) {
		return false
	}
	w.rt.notify()
	return true
}

// longDue reports that it is a long task's turn.
func (w *worker) longDue() bool {
	return w.rt.long.len.Load() > 0 && (!w.hasWork() || w.now-w.long.lastTurn >= longEvery)
}

// runLong runs a long task. What has been queued for the kernel, and what has
// arrived, must not wait for it: the one is submitted, the other offered to the
// other workers.
func (w *worker) runLong() error {
	_, err := w.driver.Poll(&w.cx, 0, false)
	if err != nil {
		return err
	}
	t := w.rt.long.pop()
	if t == nil {
		return nil
	}
	if w.first != nil {
		w.enqueue(w.first)
	}
	if w.hasWork() {
		w.offer()
	}
	w.now, w.late = w.rt.Now(), false
	w.tickAt.Store(int64(w.now))
	w.long.lastRun = w.now
	w.first, w.long.turn = t, true
	w.runTasks(1)
	w.long.turn = false
	w.now = w.rt.Now()
	w.long.lastTurn = w.now
	if w.long.ran { // t may be somebody else's by now
		w.long.until, w.long.wary = w.now+waryFor, true
	}
	return nil
}
