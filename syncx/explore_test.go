//go:build explore

package syncx

import (
	explorer "github.com/suiro-go/suiro/internal/explore"
	"github.com/suiro-go/suiro/sched"
)

// A waitTest has threads that wait for one another. It uses the production code of a primitive,
// and wakers of tasks that nobody runs.
type waitTest struct {
	x    *explorer.Execution
	who  map[sched.Waker]*sleeper
	held int // how many shares are held: see hold
}

// A sleeper is the waker of a thread, and its state.
type sleeper struct {
	x     *explorer.Execution
	task  sched.Task
	place place
	woken bool
}

func newWaitTest(x *explorer.Execution) *waitTest {
	m := &waitTest{x: x, who: make(map[sched.Waker]*sleeper)}
	wakes = func(w sched.Waker) {
		if s := m.who[w]; s != nil {
			explorer.Step(x, "wakes", &s.woken, func() { s.woken = true })
		}
	}
	return m
}

// sleeper returns a sleeper for a thread. Only the scenario's function calls it.
func (m *waitTest) sleeper() *sleeper {
	s := &sleeper{x: m.x}
	m.who[s.waker()] = s
	return s
}

func (s *sleeper) waker() sched.Waker { return s.task.Waker() }

// until polls each time it has been woken, as a task does, until poll reports true.
func (s *sleeper) until(poll func() bool) {
	for !s.poll(poll) {
		explorer.Wait(s.x, "to be woken", &s.woken, func() bool { return s.woken }, func() { s.woken = false })
	}
}

// orRest is until, but the thread need not be woken.
func (s *sleeper) orRest(poll func() bool) {
	for !s.poll(poll) {
		explorer.Rest(s.x, "to be woken", &s.woken, func() bool { return s.woken }, func() { s.woken = false })
	}
}

func (s *sleeper) poll(poll func() bool) bool { return !waits(&s.place, s.waker()) && poll() }

// hold is a critical section that at most so many threads may be in at a time.
func (m *waitTest) hold(share, most int) {
	explorer.Step(m.x, "enters", &m.held, func() {
		m.held += share
		m.x.Require(m.held <= most, "%d of %d are held", m.held, most)
	})
	explorer.Step(m.x, "leaves", &m.held, func() { m.held -= share })
}
