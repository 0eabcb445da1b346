package sched

import (
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// A MissedTick says what an Interval does after a tick that was taken late, by more
// than 5 ms: those that are missed by then are not ticks of a regular beat any more.
type MissedTick int

const (
	// Burst makes up for what was missed: ticks come at once until it is caught up with,
	// so that their number is right in the long run.
	Burst MissedTick = iota

	// Delay starts anew: the next tick comes a period after the late one was taken.
	Delay

	// Skip leaves out what was missed: the next tick comes at the next multiple of the
	// period since the first.
	Skip
)

// lateTick is how late a tick may be taken without being taken for a missed one: more
// than a timer is late on a busy machine.
const lateTick = 5 * time.Millisecond

// An Interval ticks with a period. It is a future of the runtime's time at which the
// next tick is due, done when that has come, never early. It is polled, or awaited,
// again for the tick after that, and allocates nothing then. It fails never.
//
// It belongs to one task at a time: its methods must not be called at once. Between
// ticks that nobody waits for it costs nothing.
type Interval struct {
	sleep  SleepFuture // to the next tick
	period time.Duration
	missed MissedTick
}

var (
	_ Future[time.Duration] = (*Interval)(nil)
	_ Canceler              = (*Interval)(nil)
)

// NewInterval is an interval whose first tick comes with its first poll. It panics if
// the period is not above 0.
func NewInterval(period time.Duration) *Interval {
	return &Interval{period: checkPeriod(period), sleep: SleepFuture{relative: true}}
}

// NewIntervalAt is NewInterval with the first tick at a point in the runtime's time.
func NewIntervalAt(first, period time.Duration) *Interval {
	return &Interval{period: checkPeriod(period), sleep: SleepFuture{at: first}}
}

func checkPeriod(period time.Duration) time.Duration {
	if period <= 0 {
		panic("sched: an Interval needs a period above 0")
	}
	return period
}

// OnMissed sets what happens after a tick that was taken late, and returns the
// interval. Without it: Burst.
func (i *Interval) OnMissed(m MissedTick) *Interval {
	i.missed = m
	return i
}

// Period is the time between two ticks.
func (i *Interval) Period() time.Duration { return i.period }

// Poll takes the next tick if its time has come.
func (i *Interval) Poll(cx *Context) (time.Duration, error) {
	if _, err := i.sleep.Poll(cx); err != nil {
		return 0, err
	}
	if !cx.Proceed() { // a burst may go on for long
		return 0, ErrPending
	}
	return i.take(), nil
}

// take moves on from the tick whose time has come.
func (i *Interval) take() time.Duration {
	tick := i.sleep.at
	next := saturate.Add(tick, i.period)
	if now := i.sleep.rt.Now(); now > saturate.Add(tick, lateTick) {
		switch i.missed {
		case Delay:
			next = saturate.Add(now, i.period)
		case Skip:
			next = saturate.Add(now, i.period-(now-tick)%i.period)
		}
	}
	i.sleep.ResetAt(next)
	return tick
}

// Tick awaits the next tick, in a stackful task. It returns ErrCancelled as Await
// does; the tick is then still to come.
func (i *Interval) Tick(cx *Context) (time.Duration, error) { return Await(cx, i) }

// TryTick takes the next tick if its time has come.
func (i *Interval) TryTick(cx *Context) (time.Duration, bool) {
	if i.sleep.rt == nil {
		i.sleep.begin(cx.rt, cx.rt.Now())
	}
	if i.sleep.rt.Now() < i.sleep.at {
		return 0, false
	}
	i.sleep.Cancel()
	return i.take(), true
}

// Cancel stops the timer. The interval may be polled again: the tick that was waited
// for is still to come.
func (i *Interval) Cancel() { i.sleep.Cancel() }

// Reset has the next tick come a period from now on, or if it has not been polled yet,
// from its first poll.
func (i *Interval) Reset() { i.sleep.Reset(i.period) }

// ResetAt has the next tick come at a point in the runtime's time.
func (i *Interval) ResetAt(at time.Duration) { i.sleep.ResetAt(at) }
