//go:build explore

package syncx

import (
	"fmt"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// overtaking runs a test with bounds on how often waiters may be overtaken. 0: each unlock hands
// over.
func overtaking(t *testing.T, test func(t *testing.T)) {
	before := mutexPasses
	defer func() { mutexPasses = before }()
	for _, most := range []uint32{0, 2} {
		mutexPasses = most
		t.Run(fmt.Sprintf("overtaken=%d", most), test)
	}
}

type mutexTest struct {
	*waitTest
	mu Mutex
}

func newMutexTest(x *explorer.Execution) *mutexTest {
	m := &mutexTest{waitTest: newWaitTest(x)}
	x.Finally(func() {
		x.Require(m.mu.word.Load() == 0, "left with %#x in the word", m.mu.word.Load())
		x.Require(m.mu.queue.empty(), "left with %d in the list", m.mu.queue.list.Len())
	})
	return m
}

// locks locks and unlocks a number of times.
func (m *mutexTest) locks(name string, times int) {
	s := m.sleeper()
	m.x.Go(name, func() {
		for range times {
			s.until(func() bool { return m.mu.poll(&s.place, s.waker()) })
			m.hold(1, 1)
			m.mu.Unlock()
		}
	})
}

// givesUp polls a number of times, whether it is woken or not, and gives up.
func (m *mutexTest) givesUp(name string, polls int) {
	s := m.sleeper()
	m.x.Go(name, func() {
		for range polls {
			if s.poll(func() bool { return m.mu.poll(&s.place, s.waker()) }) {
				m.hold(1, 1)
				m.mu.Unlock()
				return
			}
		}
		m.mu.leave(&s.place)
	})
}

// tries is a thread that never waits.
func (m *mutexTest) tries(name string) {
	m.x.Go(name, func() {
		if m.mu.TryLock() {
			m.hold(1, 1)
			m.mu.Unlock()
		}
	})
}

// One thread holds the lock at a time, and every waiter gets it.
func TestExploreAMutexLosesNoWaiter(t *testing.T) {
	overtaking(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			preemptions int
			threads     func(m *mutexTest)
		}{
			"two": {explorer.Unbounded, func(m *mutexTest) {
				m.locks("one", 1)
				m.locks("other", 1)
			}},
			"two, again and again": {2, func(m *mutexTest) {
				m.locks("one", 3)
				m.locks("other", 2)
			}},
			"three": {3, func(m *mutexTest) {
				m.locks("one", 1)
				m.locks("two", 1)
				m.locks("three", 1)
			}},
			"two, and one that tries": {3, func(m *mutexTest) {
				m.locks("one", 1)
				m.locks("two", 2)
				m.tries("three")
			}},
			"two, and one that gives up": {3, func(m *mutexTest) {
				m.locks("one", 1)
				m.locks("two", 1)
				m.givesUp("three", 1)
			}},
			"two, and one that gives up later": {2, func(m *mutexTest) {
				m.locks("one", 1)
				m.locks("two", 2)
				m.givesUp("three", 2)
			}},
			"two that give up": {3, func(m *mutexTest) {
				m.locks("one", 2)
				m.givesUp("two", 1)
				m.givesUp("three", 2)
			}},
		} {
			t.Run(name, func(t *testing.T) {
				explorer.Explore(t, explorer.Options{Preemptions: c.preemptions}, func(x *explorer.Execution) {
					c.threads(newMutexTest(x))
				})
			})
		}
	})
}
