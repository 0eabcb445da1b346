//go:build explore

package syncx

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

type semaphoreTest struct {
	*waitTest
	s      Semaphore
	most   int // number of permits
	atRest int // free permits at the end
}

func newSemaphoreTest(x *explorer.Execution, permits int) *semaphoreTest {
	m := &semaphoreTest{waitTest: newWaitTest(x), most: permits, atRest: permits}
	m.s.word.Store(uint64(permits) * semPermit)
	x.Finally(func() {
		x.Require(m.s.Available() == m.atRest, "%d permits are free, not %d", m.s.Available(), m.atRest)
		x.Require(m.s.word.Load()&semWaited == 0 && m.s.queue.empty(), "left with %d waiting", m.s.queue.list.Len())
	})
	return m
}

// acquires is a thread that acquires n permits and, if back is set, releases them.
func (m *semaphoreTest) acquires(name string, n int, back bool) {
	if !back {
		m.atRest -= n
	}
	s := m.sleeper()
	m.x.Go(name, func() {
		s.until(func() bool {
			ok, err := m.s.poll(&s.place, uint64(n), s.waker())
			m.x.Require(err == nil, "%v", err)
			return ok
		})
		if back {
			m.hold(n, m.most)
			m.s.Release(n)
		}
	})
}

func (m *semaphoreTest) givesUp(name string, n int) {
	s := m.sleeper()
	m.x.Go(name, func() {
		if ok, _ := m.s.poll(&s.place, uint64(n), s.waker()); ok {
			m.hold(n, m.most)
			m.s.Release(n)
			return
		}
		m.s.leave(&s.place)
	})
}

func (m *semaphoreTest) releases(name string, each ...int) {
	for _, n := range each {
		m.most += n
		m.atRest += n
	}
	m.x.Go(name, func() {
		for _, n := range each {
			m.s.Release(n)
		}
	})
}

// No permit is lost or made, and every waiter gets its permits.
func TestExploreASemaphoreLosesNoPermitAndNoWaiter(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions, permits int
		threads              func(m *semaphoreTest)
	}{
		"a release and an acquisition": {explorer.Unbounded, 0, func(m *semaphoreTest) {
			m.acquires("acquires", 1, false)
			m.releases("releases", 1)
		}},
		"a release for two": {3, 0, func(m *semaphoreTest) {
			m.acquires("one", 1, false)
			m.acquires("two", 2, false)
			m.releases("releases", 3)
		}},
		"two releases for one": {3, 1, func(m *semaphoreTest) {
			m.acquires("acquires", 3, true)
			m.releases("one", 1)
			m.releases("other", 1)
		}},
		"three that give back": {3, 2, func(m *semaphoreTest) {
			m.acquires("one", 2, true)
			m.acquires("two", 1, true)
			m.acquires("three", 2, true)
		}},
		"one that gives up before one that needs less": {3, 0, func(m *semaphoreTest) {
			m.givesUp("gives up", 2)
			m.acquires("acquires", 1, false)
			m.releases("releases", 1)
		}},
		"one that gives up what it was given": {3, 1, func(m *semaphoreTest) {
			m.givesUp("gives up", 2)
			m.acquires("acquires", 1, true)
			m.releases("releases", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: c.preemptions}, func(x *explorer.Execution) {
				c.threads(newSemaphoreTest(x, c.permits))
			})
		})
	}
}

// Each waiter that arrives while the semaphore is closed is refused; none waits on.
func TestExploreClosingASemaphoreRefusesAllThatWait(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 4}, func(x *explorer.Execution) {
		m := newSemaphoreTest(x, 1)
		m.atRest = 2
		s := m.sleeper()
		x.Go("acquires", func() {
			s.until(func() bool {
				ok, err := m.s.poll(&s.place, 2, s.waker())
				if ok {
					m.s.Release(2)
				}
				return ok || err != nil
			})
		})
		x.Go("closes", func() {
			m.s.Close()
			x.Require(m.s.word.Load()&semClosed != 0, "it is not closed")
		})
		x.Go("releases", func() {
			m.s.Release(1)
			closed := m.s.word.Load()&semClosed != 0
			m.s.Release(0)
			x.Require(!closed || m.s.word.Load()&semClosed != 0, "it was closed, and is open again")
		})
	})
}
