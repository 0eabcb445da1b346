package sched

import (
	"math"
	"time"
)

// Sleep is done when d has passed since its first poll: never early, and usually
// within 2 ms. With d of 0 or less it is done at once. It fails never. In Block it
// uses the runtime that Block was given. Its cost is a timer in the wheel of the
// runtime that polled it first, taken out again if it is abandoned; one whose
// runtime has closed is never done.
func Sleep(d time.Duration) Future[struct{}] { return &sleep{at: d, relative: true} }

// SleepUntil is Sleep to a point in the runtime's time (see Runtime.Now and
// Runtime.At). One that has passed is done at once.
func SleepUntil(at time.Duration) Future[struct{}] { return &sleep{at: at} }

type sleep struct {
	at       time.Duration // from now on, until the first poll of a relative one
	relative bool
	rt       *Runtime // whose timer it is; nil before the first poll
	waker    Waker    // that the timer was started with
	timer    Timer
}

func (s *sleep) Poll(cx *Context) (struct{}, error) {
	if s.rt == nil {
		// The tick's time, cx.Now, may lie behind: a deadline counted from that
		// would be early.
		if s.begin(cx.rt, cx.rt.Now()) {
			return struct{}{}, nil
		}
	} else if s.timer.Fired() {
		return struct{}{}, nil
	} else if s.now(cx) >= s.at {
		s.rt.StopTimer(&s.timer)
		return struct{}{}, nil
	}
	if w := cx.Waker(); w != s.waker {
		s.waker = w
		s.rt.StartTimer(&s.timer, s.at, w)
	}
	return struct{}{}, ErrPending
}

// begin ties the sleep to a runtime and reports whether its time has come.
func (s *sleep) begin(rt *Runtime, now time.Duration) bool {
	s.rt = rt
	if s.relative {
		s.relative = false
		if s.at > math.MaxInt64-now {
			s.at = math.MaxInt64
		} else {
			s.at += now
		}
	}
	return now >= s.at
}

func (s *sleep) now(cx *Context) time.Duration {
	if cx.rt != s.rt {
		return s.rt.Now()
	}
	return cx.Now()
}

// Cancel takes the timer out of the wheel.
func (s *sleep) Cancel() {
	if s.rt != nil {
		s.rt.StopTimer(&s.timer)
	}
}
