package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// Sleep is done when d has passed since its first poll: never early, and usually
// within 2 ms. With d of 0 or less it is done at once. It fails never. In Block it
// uses the runtime that Block was given. Its cost is an allocation, and a timer in the
// wheel of the runtime that polled it first, taken out again if it is abandoned; one
// whose runtime has closed is never done.
func Sleep(d time.Duration) *SleepFuture { return &SleepFuture{at: d, relative: true} }

// SleepUntil is Sleep to a point in the runtime's time (see Runtime.Now and
// Runtime.At). One that has passed is done at once.
func SleepUntil(at time.Duration) *SleepFuture { return &SleepFuture{at: at} }

// A SleepFuture is a Sleep. It can be used again: a task that keeps one, and calls
// Reset before each wait, allocates nothing. The zero value is done at once. It must
// not be copied once it was polled, and belongs to one task at a time: its methods must
// not be called at once.
type SleepFuture struct {
	at       time.Duration // from now on, until the first poll of a relative one
	relative bool
	done     bool     // it stays so until Reset
	rt       *Runtime // whose timer it is; nil before the first poll
	waker    Waker    // that the timer was started with; none: it is not running
	timer    Timer
}

var (
	_ Future[struct{}] = (*SleepFuture)(nil)
	_ Canceler         = (*SleepFuture)(nil)
)

// Poll is done if the time has come. It stays so until Reset.
func (s *SleepFuture) Poll(cx *Context) (struct{}, error) {
	if s.done {
		return struct{}{}, nil
	}
	if s.rt == nil {
		// The tick's time, cx.Now, may lie behind: a deadline counted from that
		// would be early.
		s.done = s.begin(cx.rt, cx.rt.Now())
	} else if s.waker != (Waker{}) && s.timer.Fired() {
		s.done, s.waker = true, Waker{}
	} else if s.now(cx) >= s.at {
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

// begin ties the sleep to a runtime and reports whether its time has come.
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

// Cancel takes the timer out of the wheel. Reset makes the future good again.
func (s *SleepFuture) Cancel() {
	if s.waker != (Waker{}) {
		s.waker = Waker{}
		s.rt.StopTimer(&s.timer)
	}
}

// Reset has the sleep be done when d has passed from now on, or if it has not been
// polled yet, since its first poll. What it was to be done at before is forgotten. A
// task that waits for it goes on waiting, for the new time. The allocation-free way
// to sleep many times.
func (s *SleepFuture) Reset(d time.Duration) {
	if s.rt == nil {
		s.at, s.relative, s.done = d, true, false
		return
	}
	s.ResetAt(saturate.Add(s.rt.Now(), d))
}

// ResetAt is Reset to a point in the runtime's time. With one that has passed, the
// next poll is done, and a task that waits is woken for it.
func (s *SleepFuture) ResetAt(at time.Duration) {
	s.at, s.relative, s.done = at, false, false
	if s.waker != (Waker{}) {
		s.rt.StartTimer(&s.timer, at, s.waker)
	}
}

// Deadline is the runtime's time at which the sleep is done; false: it counts from
// the first poll, which has not come.
func (s *SleepFuture) Deadline() (at time.Duration, ok bool) { return s.at, !s.relative }
