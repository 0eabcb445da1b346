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

// attempts is how often a test lets a new worker wait. A worker does not busy-poll while a
// goroutine waits for the processor, which happens on a busy machine. After some twenty long waits
// it does not busy-poll at all.
const attempts = 2000

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
	looked := false
	for range attempts {
		busyBubble(t, 20*time.Microsecond, func(t *testing.T, rt *sched.Runtime, d *fake) {
			looked = pollsOf(d, wakeUp(rt, 0, 0)) > manyPolls
			require.True(t, d.waitsIn(blocking), "in the end")
		})
		if looked {
			break
		}
	}
	require.True(t, looked)
	busyBubble(t, 0, func(t *testing.T, rt *sched.Runtime, d *fake) {
		require.Less(t, pollsOf(d, wakeUp(rt, 0, 0)), manyPolls)
	})
}

func TestWhatComesWhileAWorkerLooksIsNotWaitedFor(t *testing.T) {
	come := false
	for range attempts {
		busyBubble(t, 20*time.Microsecond, func(t *testing.T, rt *sched.Runtime, d *fake) {
			polls := 0
			var calls []call
			d.onPoll = func(*sched.Context) {
				if polls++; polls == manyPolls {
					d.events <- func(*sched.Context) (int, error) { come, calls = true, d.takeCalls(); return 1, nil }
				}
			}
			newTask(rt, 0, func(*sched.Context) bool { return true }).Wake()
			synctest.Wait()
			d.onPoll = nil
			require.False(t, come && slices.ContainsFunc(calls, func(c call) bool { return c.phase == blocking }))
		})
		if come {
			return
		}
	}
	t.Fatal("it never looked")
}

func TestAWorkerThatLooksInVainStopsItUntilWaitsAreShort(t *testing.T) {
	busyBubble(t, 20*time.Microsecond, func(t *testing.T, rt *sched.Runtime, d *fake) {
		for range attempts {
			synctest.Wait()
			wakeUp(rt, 0, 0)() // a minute passes
		}
		synctest.Wait()
		require.Less(t, pollsOf(d, wakeUp(rt, 0, 0)), manyPolls, "it was in vain each time")
		looked := 0
		for range attempts {
			looked = pollsOf(d, func() { newTask(rt, 0, func(*sched.Context) bool { return true }).Wake() }) // no time passes
			synctest.Wait()
			if looked > manyPolls {
				return
			}
		}
		t.Fatal("it waits, however short that is")
	})
}
