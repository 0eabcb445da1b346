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

// all is the number of shares of a writer; a reader has one share.
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

// downgrades writes a value, and must read that value as a reader.
func (m *rwTest) downgrades(name string, written *string) {
	s := m.sleeper()
	m.x.Go(name, func() {
		s.until(func() bool { return m.rw.poll(&s.place, rwWrite, s.waker()) })
		m.hold(all, all)
		explorer.Step(m.x, "writes", written, func() { *written = name })
		m.rw.Downgrade()
		m.hold(1, all-1)
		explorer.Step(m.x, "reads", written, func() { m.x.Require(*written == name, "%s has written in between", *written) })
		m.rw.RUnlock()
	})
}

func TestExploreADowngradeLetsNoWriterInAndLosesNoWaiter(t *testing.T) {
	for name, others := range map[string]func(m *rwTest, written *string){
		"another":              func(m *rwTest, written *string) { m.downgrades("another", written) },
		"a reader":             func(m *rwTest, _ *string) { m.locks("reads", rwRead) },
		"another and a reader": func(m *rwTest, written *string) { m.downgrades("another", written); m.locks("reads", rwRead) },
	} {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
				m, written := newRWTest(x), new(string)
				m.downgrades("one", written)
				others(m, written)
			})
		})
	}
}

// A waiting reader gets the lock at the downgrade, and not only when the writer has left.
func TestExploreADowngradeLetsReadersIn(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3}, func(x *explorer.Execution) {
		m := newRWTest(x)
		m.rw.TryLock()
		reads := false
		x.Go("writes", func() {
			m.rw.Downgrade()
			explorer.Wait(x, "the reader", &reads, func() bool { return reads }, nil)
			m.rw.RUnlock()
		})
		s := m.sleeper()
		x.Go("reads", func() {
			s.until(func() bool { return m.rw.poll(&s.place, rwRead, s.waker()) })
			explorer.Step(x, "reads", &reads, func() { reads = true })
			m.rw.RUnlock()
		})
	})
}

// A writer is alone, and every waiter gets the lock.
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

// Two readers need each other. The one behind a writer must get the lock when the writer gives up,
// and not only when the other reader has left.
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
