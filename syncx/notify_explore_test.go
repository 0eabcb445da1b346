//go:build explore

package syncx

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

type notifyTest struct {
	*waitTest
	n    Notify
	told int
}

func (m *notifyTest) note() { explorer.Step(m.x, "is told", &m.told, func() { m.told++ }) }

func (m *notifyTest) poll(s *sleeper, since *uint64) func() bool {
	return func() bool { return m.n.poll(&s.place, since, s.waker()) }
}

// waits is a thread that waits once; it need not be notified.
func (m *notifyTest) waits(name string) {
	s, since := m.sleeper(), m.n.calls()
	m.x.Go(name, func() {
		s.orRest(m.poll(s, &since))
		m.note()
	})
}

// givesUp polls a number of times, whether it is woken or not, and gives up.
func (m *notifyTest) givesUp(name string, polls int) {
	s, since := m.sleeper(), m.n.calls()
	m.x.Go(name, func() {
		for range polls {
			if s.poll(m.poll(s, &since)) {
				m.note()
				return
			}
		}
		m.n.leave(&s.place)
	})
}

// Each notification reaches one waiter, or is stored for the next. If a notified waiter gives up,
// its notification goes to another. Only one can be stored, so there are never two at a time
// without a waiter.
func TestExploreANotificationReachesExactlyOne(t *testing.T) {
	for name, c := range map[string]struct {
		threads func(m *notifyTest)
		waiters bool // that need to be told
	}{
		"one":                              {func(m *notifyTest) { m.waits("one") }, true},
		"two":                              {func(m *notifyTest) { m.waits("one"); m.waits("two") }, true},
		"one, and one that gives up":       {func(m *notifyTest) { m.waits("one"); m.givesUp("two", 1) }, true},
		"one, and one that gives up later": {func(m *notifyTest) { m.waits("one"); m.givesUp("two", 2) }, true},
		"one that gives up":                {func(m *notifyTest) { m.givesUp("one", 2) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
				m := &notifyTest{waitTest: newWaitTest(x)}
				c.threads(m)
				x.Go("notifies", m.n.NotifyOne)
				x.Finally(func() {
					stored := m.n.word.Load()&notifyState == notifyStored
					if stored {
						m.told++
					}
					x.Require(m.told == 1, "one notification, seen %d times", m.told)
					x.Require(!stored || m.n.queue.empty(), "stored, while somebody waits")
					x.Require(!stored || !c.waiters, "stored, while somebody was to wait")
				})
			})
		})
	}
}

// A task that checks a condition and then waits for a change sees the change.
func TestExploreNotifyWaitersIsNotMissedAfterALook(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := &notifyTest{waitTest: newWaitTest(x)}
		happened := false
		for _, name := range []string{"one", "two"} {
			s := m.sleeper()
			x.Go(name, func() {
				since := m.n.calls()
				seen := false
				explorer.Step(x, "looks", &happened, func() { seen = happened })
				if !seen {
					s.until(m.poll(s, &since))
				}
			})
		}
		x.Go("notifies", func() {
			explorer.Step(x, "happens", &happened, func() { happened = true })
			m.n.NotifyWaiters()
		})
		x.Finally(func() { x.Require(m.n.word.Load()&notifyState == notifyNothing, "it stored something") })
	})
}

// Both kinds of notification run concurrently. Nobody is notified twice, and a waiter that
// NotifyWaiters has notified does not use up the permit of NotifyOne.
func TestExploreNotifyWaitersAgainstNotifyOne(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := &notifyTest{waitTest: newWaitTest(x)}
		m.waits("one")
		m.givesUp("two", 1)
		x.Go("notifies one", m.n.NotifyOne)
		x.Go("notifies all", m.n.NotifyWaiters)
		x.Finally(func() {
			x.Require(m.told >= 1, "nobody was told")
			x.Require(m.n.word.Load()&notifyState != notifyWaited && m.n.queue.empty(), "somebody is left waiting")
		})
	})
}

// waiting starts some waits and returns the first, with its poll.
func (m *notifyTest) waiting(n int) (first *sleeper, poll func() bool) {
	for i := range n {
		s, since := m.sleeper(), m.n.calls()
		p := m.poll(s, &since)
		m.x.Require(!s.poll(p), "done at once")
		if i == 0 {
			first, poll = s, p
		}
	}
	return first, poll
}

// atRest requires that nobody waits, and reports whether a notification is stored.
func (m *notifyTest) atRest() (stored bool) {
	m.x.Require(m.n.queue.empty() && m.n.due.Len() == 0, "somebody is left waiting")
	is := m.n.word.Load() & notifyState
	m.x.Require(is != notifyWaited, "the word says that somebody waits")
	return is == notifyStored
}

// NotifyWaiters notifies more than one batch. The first waiter that runs calls NotifyOne. The
// notified waiters do not need that, so it is stored for the next wait.
func TestExploreNotifyOneAmongThoseWhoAreTold(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := &notifyTest{waitTest: newWaitTest(x)}
		first, poll := m.waiting(3)
		x.Go("notifies all", m.n.NotifyWaiters)
		x.Go("one", func() {
			first.until(poll)
			m.n.NotifyOne()
		})
		x.Finally(func() { x.Require(m.atRest(), "the notification is lost") })
	})
}

// The same happens when a notified waiter gives up.
func TestExploreANotificationGivenUpAmongThoseWhoAreTold(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := &notifyTest{waitTest: newWaitTest(x)}
		first, _ := m.waiting(4)
		m.n.NotifyOne()
		told := false // whether the others were notified when it gives up
		x.Go("notifies all", m.n.NotifyWaiters)
		x.Go("gives up", func() {
			told = m.n.calls() > 0
			m.n.leave(&first.place)
		})
		x.Finally(func() { x.Require(m.atRest() || !told, "the notification is lost") })
	})
}

// A waiter that was notified, but not woken yet, gives up; another one arrives.
func TestExploreNotifyWaitersToOneWhoLeaves(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := &notifyTest{waitTest: newWaitTest(x)}
		m.waiting(2)
		last, _ := m.waiting(1)
		x.Go("notifies all", m.n.NotifyWaiters)
		x.Go("gives up", func() { m.n.leave(&last.place) })
		late, since, came := m.sleeper(), uint64(1), false
		told := func() bool { return came || m.n.queue.empty() }
		x.Go("late", func() {
			explorer.Wait(x, "NotifyWaiters", &came, told, func() { came = true })
			late.until(m.poll(late, &since))
			m.note()
		})
		x.Go("notifies one", func() {
			explorer.Wait(x, "NotifyWaiters", &came, told, nil)
			m.n.NotifyOne()
		})
		x.Finally(func() {
			stored := m.atRest()
			x.Require(m.told == 1 && !stored, "the one who came later was told %d times, stored: %v", m.told, stored)
		})
	})
}
