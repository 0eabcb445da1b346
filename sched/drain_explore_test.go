//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A drainTest has a runtime that begins to drain while the explorer's threads act for its workers.
type drainTest struct {
	x  *explorer.Execution
	rt *Runtime
}

// drains adds a thread that begins to drain. In the end each task that was counted has been taken
// off again, and the drain is over.
func drains(x *explorer.Execution) *drainTest {
	m := &drainTest{x: x, rt: takesTasks()}
	m.rt.drain.done = make(chan struct{})
	x.Go("drains", func() { m.rt.drain.begin(m.rt) })
	x.Finally(func() {
		left, over := m.rt.drain.left.Load(), m.rt.drain.over.Load()
		x.Require(left == 0 && over, "all tasks have ended; left: %d, over: %v", left, over)
	})
	return m
}

// begin spawns a task whose handle is detached, and starts it.
func (m *drainTest) begin() *cell[struct{}] {
	c := newCell[struct{}](m.rt, nil, nil, nil, oneRef|detached)
	c.task.state.start()
	return c
}

// end ends a task that runs. The drain has waited for it.
func (m *drainTest) end(c *cell[struct{}]) {
	m.x.Require(!m.rt.drain.over.Load(), "the drain does not wait for a task")
	c.completed(nil, c.task.state.complete())
}

// A task spawns another one and ends before it. A drain waits for both.
func TestExploreADrainAgainstATaskThatSpawns(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3, Plain: true}, func(x *explorer.Execution) {
		m := drains(x)
		first := m.begin()
		x.Go("runs", func() {
			second := m.begin()
			m.end(first)
			m.end(second)
		})
	})
}

// A task ends while the drain looks at it, and the next one has its memory.
func TestExploreADrainAgainstMemoryThatIsUsedAgain(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 3, Plain: true}, func(x *explorer.Execution) {
		m := drains(x)
		parent, first := m.begin(), m.begin()
		x.Go("runs", func() {
			m.end(first)
			second := m.begin()
			x.Require(second == first, "the memory is not used again")
			m.end(second)
			m.end(parent)
		})
	})
}

// Two tasks end concurrently: the drain ends once.
func TestExploreADrainAgainstTwoEnds(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2, Plain: true}, func(x *explorer.Execution) {
		m := drains(x)
		first, second := m.begin(), m.begin()
		finish := func(c *cell[struct{}]) { c.completed(nil, c.task.state.complete()) }
		x.Go("first", func() { finish(first) })
		x.Go("second", func() { finish(second) })
	})
}
