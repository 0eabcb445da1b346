package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// Sleep is done when d has passed since its first poll: never early, and usually within 2 ms. With
// d of 0 or less it is done at once. It never fails. In Block it uses the runtime that Block was
// given. It costs an allocation, and a timer in the wheel of the runtime that polled it first. If
// it is abandoned, the timer is removed. If that runtime has closed, it is never done.
func Sleep(d time.Duration) *SleepFuture { return &SleepFuture{at: d, relative: true} }

// SleepUntil is Sleep until a point in the runtime's time (see Runtime.Now and Runtime.At). If
// that has passed, it is done at once.
func SleepUntil(at time.Duration) *SleepFuture { return &SleepFuture{at: at} }

// A SleepFuture is a Sleep. It can be used again: a task that keeps one, and calls Reset before
// each wait, allocates nothing. The zero value is done at once. It must not be copied after its
// first poll. It belongs to one task at a time: its methods must not be called concurrently.
type SleepFuture struct {
	at       time.Duration // relative to now until the first poll, if relative
	relative bool
	done     bool     // stays true until Reset
	rt       *Runtime // the runtime of the timer; nil before the first poll
	waker    Waker    // the waker that the timer was started with; none: the timer is stopped
	timer    Timer
}

var (
	_ Future[struct{}] = (*SleepFuture)(nil)
	_ Canceler         = (*SleepFuture)(nil)
)

// Poll returns a nil error if the time has come, and does so until Reset.
func (s *SleepFuture) Poll(cx *Context) (struct{}, error) {
	if s.done {
		return struct{}{}, nil
	}
	switch {
	case s.rt == nil:
		// cx.Now, the time of the tick, may be behind: a deadline counted from it would be early.
		s.done = s.begin(cx.rt, cx.rt.Now())
	case s.waker != (Waker{}) && s.timer.Fired():
		s.done, s.waker = true, Waker{}
	case s.now(cx) >= s.at:
		s.done = true
		s.Cancel()
	}
	if s.done {
		return struct{}{}, nil
	}
	if w := cx.Waker(); w != s.waker {
		s.waker = w
		s.rt.StartTimer(&s.timer, s.at, w)
	}
	return struct{}{}, ErrPending
}

// begin ties the sleep to a runtime, and reports whether it is due.
func (s *SleepFuture) begin(rt *Runtime, now time.Duration) bool {
	s.rt = rt
	if s.relative {
		s.relative = false
		s.at = saturate.Add(now, s.at)
	}
	return now >= s.at
}

func (s *SleepFuture) now(cx *Context) time.Duration {
	if cx.rt != s.rt {
		return s.rt.Now()
	}
	return cx.Now()
}

// Cancel removes the timer from the wheel. After Reset the future can be used again.
func (s *SleepFuture) Cancel() {
	if s.waker != (Waker{}) {
		s.waker = Waker{}
		s.rt.StopTimer(&s.timer)
	}
}

// Reset makes the sleep done when d has passed from now on. If it has not been polled yet, d
// counts from its first poll. The earlier time is discarded. A task that waits for the sleep now
// waits for the new time. With Reset a task can sleep many times without an allocation.
func (s *SleepFuture) Reset(d time.Duration) {
	if s.rt == nil {
		s.at, s.relative, s.done = d, true, false
		return
	}
	s.ResetAt(saturate.Add(s.rt.Now(), d))
}

// ResetAt is Reset to a point in the runtime's time. If that has passed, the next poll is done,
// and a task that waits is woken.
func (s *SleepFuture) ResetAt(at time.Duration) {
	s.at, s.relative, s.done = at, false, false
	if s.waker != (Waker{}) {
		s.rt.StartTimer(&s.timer, at, s.waker)
	}
}

// Deadline is the runtime's time at which the sleep is done. false: it counts from the first poll,
// which has not happened.
func (s *SleepFuture) Deadline() (at time.Duration, ok bool) { return s.at, !s.relative }

// IsElapsed reports whether the time of the sleep has come, whether or not it has been polled
// since. Before its first poll a sleep belongs to no runtime, and IsElapsed reports false.
func (s *SleepFuture) IsElapsed() bool {
	return s.done || s.rt != nil && s.rt.Now() >= s.at
}
