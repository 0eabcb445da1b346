package handover

import "github.com/suiro-go/suiro/internal/atomics"

// A Limit stops a task that brings things while many of them wait to be taken. The task asks
// Reached after each one, and stops with Stop; it goes on when Reopen says so. Arrived counts each
// one that begins to wait, Taken each one that a goroutine takes.
//
// No wake-up is lost. Reopen reads how many wait under the lock and before it goes on. Taken counts
// before it takes the lock. So either Reopen sees that fewer wait, or Taken sees that the task has
// stopped.
//
// The zero value knows no limit and counts nothing useful: then only Stop and Reopen may be called.
type Limit struct {
	Most int // wait at a time, about; 0: no limit. Fixed before the first call.

	waiting atomics.Int64

	mu      atomics.Mutex
	stopped bool
}

// Reached reports whether as many wait as may. Any goroutine may call it.
func (l *Limit) Reached() bool { return l.Most > 0 && l.waiting.Load() >= int64(l.Most) }

// Arrived counts one more that waits. It reports whether the caller has to wake the task: the
// limit is reached, and the task is to stop. Any goroutine may call it.
func (l *Limit) Arrived() (wake bool) {
	if l.waiting.Add(1) < int64(l.Most) {
		return false
	}
	l.Stop()
	return true
}

// Taken counts one that waits no more. It reports whether the caller has to wake the task: it
// has stopped, and at most half of the limit wait. Any goroutine may call it.
func (l *Limit) Taken() (wake bool) {
	if l.waiting.Add(-1) > int64(l.Most/2) {
		return false // a later one wakes the task, which then brings several
	}
	return l.Stopped()
}

// Stop notes that there is no room for more. Any goroutine may call it; the caller then wakes
// the task.
func (l *Limit) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// Reopen reports whether the task may bring more. If it has stopped, Reopen calls enter for
// as long as the limit is not reached. enter admits one that was brought too early. It says
// whether there is room, and whether it found one to admit. It is called under a lock that
// Arrived, Taken and Stop take. Only the task may call Reopen.
func (l *Limit) Reopen(enter func() (room, found bool)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stopped && !l.Reached() {
		room, found := enter()
		if !room {
			break
		}
		l.stopped = found
	}
	return !l.stopped
}

// Stopped reports whether Stop was called and no Reopen has found room since. It is for
// reports and tests: it may be otherwise by the time it returns.
func (l *Limit) Stopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}
