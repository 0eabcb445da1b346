package sched

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// A MissedTick is the behavior of an Interval after a tick that was taken more than 5 ms late. The
// ticks that were due by then have been missed.
type MissedTick int

const (
	// Burst catches up: the missed ticks come at once, so that the number of ticks is right in the
	// long run.
	Burst MissedTick = iota

	// Delay starts anew: the next tick comes one period after the late one was taken.
	Delay

	// Skip leaves out the missed ticks: the next tick comes at the next multiple of the period
	// since the first tick.
	Skip
)

// lateTick is how late a tick may be taken without counting as late. It is more than the delay of
// timers on a busy machine.
const lateTick = 5 * time.Millisecond

// An Interval ticks with a period. It is a future that is done when the next tick is due, never
// early. Its value is the runtime's time at which that tick was due. It can be polled, or awaited,
// again for the following tick, without an allocation. It never fails.
//
// It belongs to one task at a time: its methods must not be called concurrently. It costs nothing
// between two ticks while nobody waits.
type Interval struct {
	sleep  SleepFuture // to the next tick
	period time.Duration
	missed MissedTick
}

var (
	_ Future[time.Duration] = (*Interval)(nil)
	_ Canceler              = (*Interval)(nil)
)

// NewInterval returns an interval whose first tick comes with its first poll. It panics unless the
// period is above 0.
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

// OnMissed sets the behavior after a late tick, and returns the interval. The default is Burst.
func (i *Interval) OnMissed(m MissedTick) *Interval {
	i.missed = m
	return i
}

// Period is the time between two ticks.
func (i *Interval) Period() time.Duration { return i.period }

// Poll takes the next tick if it is due.
func (i *Interval) Poll(cx *Context) (time.Duration, error) {
	if _, err := i.sleep.Poll(cx); err != nil {
		return 0, err
	}
	if !cx.Proceed() { // a burst may have many ticks
		return 0, ErrPending
	}
	return i.take(), nil
}

// take moves on from a tick that is due.
func (i *Interval) take() time.Duration {
	tick := i.sleep.at
	next := saturate.Add(tick, i.period)
	if now := i.sleep.exactly(); now > saturate.Add(tick, lateTick) {
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

// Tick awaits the next tick (see Await). With an error, the tick has not been taken.
func (i *Interval) Tick(ctx context.Context) (time.Duration, error) { return Await(ctx, i) }

// TryTick takes the next tick if it is due.
func (i *Interval) TryTick(cx *Context) (time.Duration, bool) {
	if !i.sleep.begun {
		i.sleep.begin(cx.rt)
	}
	if i.sleep.exactly() < i.sleep.at {
		return 0, false
	}
	i.sleep.Cancel()
	return i.take(), true
}

// Cancel stops the timer. The interval may be polled again: the tick has not been taken.
func (i *Interval) Cancel() { i.sleep.Cancel() }

// Reset moves the next tick to one period from now on. If the interval has not been polled yet,
// the period begins with its first poll.
func (i *Interval) Reset() { i.sleep.Reset(i.period) }

// ResetAt moves the next tick to a point in the runtime's time.
func (i *Interval) ResetAt(at time.Duration) { i.sleep.ResetAt(at) }
