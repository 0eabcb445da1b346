package sched_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// In a bubble time stands still for a worker that busy-polls, so it polls as often as it may.
const manyPolls = 1000

// pollsOf is how often a driver was polled without waiting and without an event, while happen ran.
func pollsOf(d *fake, happen func()) int {
	d.takeCalls()
	before := d.count(&d.polls)
	happen()
	synctest.Wait()
	return d.count(&d.polls) - before
}

func busyBubble(t *testing.T, busy time.Duration, test func(t *testing.T, rt *sched.Runtime, d *fake)) {
	inBubble(t, sched.Config{Workers: 1, Hold: -1, BusyPoll: busy}, func(t *testing.T, rt *sched.Runtime, fakes []*fake) {
		test(t, rt, fakes[0])
	})
}

func TestAWorkerPollsForEventsBeforeItWaits(t *testing.T) {
	busyBubble(t, 20*time.Microsecond, func(t *testing.T, rt *sched.Runtime, d *fake) {
		looked := false
		for range 200 { // now and then a goroutine waits for the processor, and then a worker does not busy-poll
			if looked = pollsOf(d, wakeUp(rt, 0, 0)) > manyPolls; looked {
				break
			}
		}
		require.True(t, looked)
		require.True(t, d.waitsIn(blocking), "in the end")
	})
	busyBubble(t, 0, func(t *testing.T, rt *sched.Runtime, d *fake) {
		require.Less(t, pollsOf(d, wakeUp(rt, 0, 0)), manyPolls)
	})
}

func TestWhatComesWhileAWorkerLooksIsNotWaitedFor(t *testing.T) {
	busyBubble(t, 20*time.Microsecond, func(t *testing.T, rt *sched.Runtime, d *fake) {
		for range 200 { // as above
			come, polls := false, 0
			var calls []call
			d.onPoll = func(*sched.Context) {
				if polls++; polls == manyPolls {
					d.events <- func(*sched.Context) (int, error) { come, calls = true, d.takeCalls(); return 1, nil }
				}
			}
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			synctest.Wait()
			d.onPoll = nil
			if come {
				require.False(t, slices.ContainsFunc(calls, func(c call) bool { return c.phase == blocking }))
				return
			}
		}
		t.Fatal("it never looked")
	})
}

func TestAWorkerThatLooksInVainStopsItUntilWaitsAreShort(t *testing.T) {
	busyBubble(t, 20*time.Microsecond, func(t *testing.T, rt *sched.Runtime, d *fake) {
		for range 40 {
			synctest.Wait()
			wakeUp(rt, 0, 0)() // a minute passes
		}
		synctest.Wait()
		require.Less(t, pollsOf(d, wakeUp(rt, 0, 0)), manyPolls, "it was in vain each time")
		looked := 0
		for range 40 {
			looked = pollsOf(d, func() { newTask(rt, 0, func(*sched.Context) bool { return true }).Wake() }) // no time passes
			synctest.Wait()
			if looked > manyPolls {
				return
			}
		}
		t.Fatal("it waits, however short that is")
	})
}
