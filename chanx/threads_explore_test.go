//go:build explore

package chanx

import (
	"fmt"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
	"github.com/suiro-go/suiro/sched"
)

// A scene has threads that act as tasks: they poll, and sleep until they are woken. A thread that
// is not woken sleeps until the end, which shows a lost wake-up.
type scene struct {
	x     *explorer.Execution
	woken map[sched.Waker]*bool
	left  int         // number of threads that are not done
	got   map[int]int // how often each value was received
	sent  map[int]bool
	check func() // called at the end; nil: no further check
}

func newScene(x *explorer.Execution) *scene {
	m := &scene{x: x, woken: map[sched.Waker]*bool{}, got: map[int]int{}, sent: map[int]bool{}}
	wakeThread = func(w sched.Waker) {
		if flag := m.woken[w]; flag != nil {
			explorer.Step(x, "wakes", flag, func() { *flag = true })
		}
	}
	pauseThread = x.Yield
	x.Finally(func() {
		wakeThread, pauseThread = nil, nil
		x.Require(m.left == 0, "%d threads sleep for ever: a wake-up was lost", m.left)
		if m.check != nil {
			m.check()
		}
	})
	return m
}

// finally sets a check for the end.
func (m *scene) finally(f func()) { m.check = f }

// A sleeper is a thread that may wait.
type sleeper struct {
	*scene
	waker sched.Waker
}

func (m *scene) sleeper() sleeper {
	s := sleeper{m, new(sched.Task).Waker()}
	m.woken[s.waker] = new(bool)
	return s
}

// thread starts a thread.
func (m *scene) thread(name string, f func(s sleeper)) {
	s := m.sleeper()
	m.left++
	m.x.Go(name, func() {
		f(s)
		m.left--
	})
}

// sleep returns when the thread has been woken.
func (s sleeper) sleep() {
	flag := s.woken[s.waker]
	explorer.Rest(s.x, "sleeps", flag, func() bool { return *flag }, func() { *flag = false })
}

// received records a value.
func (m *scene) received(v int) {
	m.got[v]++
	m.x.Require(m.got[v] == 1, "value %d was received twice", v)
	m.x.Require(v > 0, "a value that nobody sent")
}

// send acts as a task that sends v.
func (s sleeper) send(c *bounded[int], v int) error {
	f := &sendFuture[int]{value: v}
	f.ch = c
	for {
		var err error = sched.ErrPending
		if !f.waits() {
			if is := c.send(nil, v); is != full {
				err = is.err()
			}
		}
		if err == sched.ErrPending {
			err = f.await(nil, s.waker)
		}
		if err != sched.ErrPending {
			if err == nil {
				s.sent[v] = true
			}
			return err
		}
		s.sleep()
	}
}

// recv acts as a task that receives.
func (s sleeper) recv(c *bounded[int]) error {
	f := &recvFuture[int]{}
	f.ch = c
	for {
		v, err := f.try(nil)
		if err == sched.ErrPending {
			v, err = f.await(nil, s.waker)
		}
		if err == nil {
			s.received(v)
		}
		if err != sched.ErrPending {
			return err
		}
		s.sleep()
	}
}

func newExplored(x *explorer.Execution, capacity int) *bounded[int] {
	tx, _ := NewBounded[int](capacity)
	c := tx.ch
	x.Always(func() {
		tail := c.ring.tail.Load()
		used := (tail-c.ring.head.Load())&posMask + tail&permitMask/onePermit
		x.Require(used <= c.ring.capacity, "%d places are used of %d", used, c.ring.capacity)
	})
	return c
}

// scenes explores each scene. start makes the fresh state of a scene.
func scenes(t *testing.T, all map[string]aScene) {
	for name, s := range all {
		t.Run(name, func(t *testing.T) {
			explorer.Explore(t, explorer.Options{Preemptions: s.preemptions, Plain: s.plain}, func(x *explorer.Execution) {
				s.start(newScene(x))
			})
		})
	}
}

type aScene struct {
	preemptions int
	plain       bool // code between two atomic operations is a step of its own
	start       func(m *scene)
}

func numbered(what string, i int) string { return fmt.Sprintf("%s %d", what, i) }
