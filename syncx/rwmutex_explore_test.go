//go:build explore

package syncx

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

type rwTest struct {
	*waitTest
	rw RWMutex
}

func newRWTest(x *explorer.Execution) *rwTest {
	m := &rwTest{waitTest: newWaitTest(x)}
	x.Finally(func() {
		x.Require(m.rw.word.Load() == 0 && m.rw.queue.empty(),
			"left with %#x in the word, %d in the list", m.rw.word.Load(), m.rw.queue.list.Len())
	})
	return m
}

// all is what a writer holds, and a reader one of.
const all = 8

func (m *rwTest) use(kind uint64) {
	if kind == rwWrite {
		m.hold(all, all)
		m.rw.Unlock()
	} else {
		m.hold(1, all-1)
		m.rw.RUnlock()
	}
}

func (m *rwTest) locks(name string, kind uint64) {
	s := m.sleeper()
	m.x.Go(name, func() {
		s.until(func() bool { return m.rw.poll(&s.place, kind, s.waker()) })
		m.use(kind)
	})
}

func (m *rwTest) givesUp(name string, kind uint64) {
	s := m.sleeper()
	m.x.Go(name, func() {
		if s.poll(func() bool { return m.rw.poll(&s.place, kind, s.waker()) }) {
			m.use(kind)
		} else {
			m.rw.leave(&s.place, kind)
		}
	})
}

// A writer has it alone, and whoever waits gets it.
func TestExploreAnRWMutexLosesNoWaiter(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions int
		threads     func(m *rwTest)
	}{
		"two writers": {explorer.Unbounded, func(m *rwTest) { m.locks("one", rwWrite); m.locks("two", rwWrite) }},
		"one of each": {explorer.Unbounded, func(m *rwTest) { m.locks("writes", rwWrite); m.locks("reads", rwRead) }},
		"a writer and readers": {3, func(m *rwTest) {
			m.locks("writes", rwWrite)
			m.locks("reads", rwRead)
			m.locks("reads too", rwRead)
		}},
		"writers and a reader": {3, func(m *rwTest) {
			m.locks("writes", rwWrite)
			m.locks("reads", rwRead)
			m.locks("writes too", rwWrite)
		}},
		"readers, and a writer that gives up": {3, func(m *rwTest) {
			m.locks("reads", rwRead)
			m.givesUp("gives up", rwWrite)
			m.locks("reads too", rwRead)
		}},
		"writers, and a reader that gives up": {3, func(m *rwTest) {
			m.locks("writes", rwWrite)
			m.givesUp("gives up", rwRead)
			m.locks("writes too", rwWrite)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: c.preemptions}, func(x *explorer.Execution) {
				c.threads(newRWTest(x))
			})
		})
	}
}

// Two readers that need each other: the one behind a writer must come in when that gives
// up, and not only when the other has left.
func TestExploreAReaderComesInWhenTheWriterBeforeItGivesUp(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
		m := newRWTest(x)
		m.givesUp("gives up", rwWrite)
		readers := 0
		for _, name := range []string{"one", "other"} {
			s := m.sleeper()
			x.Go(name, func() {
				s.until(func() bool { return m.rw.poll(&s.place, rwRead, s.waker()) })
				explorer.Step(x, "reads", &readers, func() { readers++ })
				explorer.Wait(x, "the other reader", &readers, func() bool { return readers == 2 }, nil)
				m.rw.RUnlock()
			})
		}
	})
}
