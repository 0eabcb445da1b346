package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// Sleep is done when d has passed since its first poll: never early, and usually within 2 ms. With
// d of 0 or less it is done at once. It never fails. In Block it uses the runtime that Block was
// given, and in the Await of a goroutine the time of package time. It costs an allocation, and a
// timer in the wheel of the runtime that polled it first. If it is abandoned, the timer is removed.
// If that runtime has closed, it is never done.
func Sleep(d time.Duration) *SleepFuture { return &SleepFuture{at: d, relative: true} }

// SleepUntil is Sleep until a point in the runtime's time (see Runtime.Now and Runtime.At). If
// that has passed, it is done at once. In the Await of a goroutine it panics: there is no runtime.
func SleepUntil(at time.Duration) *SleepFuture { return &SleepFuture{at: at} }

// A SleepFuture is a Sleep. It can be used again: a task that keeps one, and calls Reset before
// each wait, allocates nothing. The zero value is done at once. It must not be copied after its
// first poll. It belongs to one task at a time: its methods must not be called concurrently.
type SleepFuture struct {
	at       time.Duration // relative to now until the first poll, if relative
	relative bool
	begun    bool     // it has been polled
	done     bool     // stays true until Reset
	rt       *Runtime // the runtime of the timer; nil: before the first poll, or in a goroutine
	waker    Waker    // the waker that the timer was started with; none: the timer is stopped
	timer    Timer
	outside  *time.Timer // is used in a goroutine, instead of timer
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
	case !s.begun:
		s.done = s.begin(cx.rt)
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
		s.start(w)
	}
	return struct{}{}, ErrPending
}

// begin ties the sleep to a runtime, or to none, and reports whether it is due.
func (s *SleepFuture) begin(rt *Runtime) bool {
	if rt == nil && !s.relative && s.at > 0 {
		panic("sched: a time of a runtime, in the Await of a goroutine, which has no runtime: use Block")
	}
	s.rt, s.begun = rt, true
	now := s.exactly()
	if s.relative {
		s.relative = false
		s.at = saturate.Add(now, s.at)
	}
	return now >= s.at
}

// exactly is the time now. The time of the tick, Context.Now, may be behind: a deadline counted
// from it would be early.
func (s *SleepFuture) exactly() time.Duration {
	if s.rt == nil {
		return outsideNow()
	}
	return s.rt.Now()
}

func (s *SleepFuture) now(cx *Context) time.Duration {
	if cx.rt != s.rt {
		return s.exactly()
	}
	return cx.Now()
}

// start makes w be woken at the time.
func (s *SleepFuture) start(w Waker) {
	s.waker = w
	if s.rt != nil {
		s.rt.StartTimer(&s.timer, s.at, w)
		return
	}
	if s.outside != nil {
		s.outside.Stop()
	}
	s.outside = time.AfterFunc(s.at-outsideNow(), w.Wake)
}

// processBegan is when the time of goroutines without a runtime begins.
var processBegan = time.Now()

// outsideNow is the time of a future that Wait polls.
func outsideNow() time.Duration { return time.Since(processBegan) }

// Cancel removes the timer from the wheel. After Reset the future can be used again.
func (s *SleepFuture) Cancel() {
	if s.waker != (Waker{}) {
		s.waker = Waker{}
		if s.rt != nil {
			s.rt.StopTimer(&s.timer)
		} else {
			s.outside.Stop()
		}
	}
}

// Reset makes the sleep done when d has passed from now on. If it has not been polled yet, d
// counts from its first poll. The earlier time is discarded. A task that waits for the sleep now
// waits for the new time. With Reset a task can sleep many times without an allocation.
func (s *SleepFuture) Reset(d time.Duration) {
	if !s.begun {
		s.at, s.relative, s.done = d, true, false
		return
	}
	s.ResetAt(saturate.Add(s.exactly(), d))
}

// ResetAt is Reset to a point in the runtime's time. If that has passed, the next poll is done,
// and a task that waits is woken.
func (s *SleepFuture) ResetAt(at time.Duration) {
	s.at, s.relative, s.done = at, false, false
	if s.waker != (Waker{}) {
		s.start(s.waker)
	}
}

// Deadline is the runtime's time at which the sleep is done. false: it counts from the first poll,
// which has not happened.
func (s *SleepFuture) Deadline() (at time.Duration, ok bool) { return s.at, !s.relative }

// IsElapsed reports whether the time of the sleep has come, whether or not it has been polled
// since. Before its first poll a sleep belongs to no runtime, and IsElapsed reports false.
func (s *SleepFuture) IsElapsed() bool {
	return s.done || s.begun && s.exactly() >= s.at
}
