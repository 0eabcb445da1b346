//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// constant is a future that is done at once.
func constant(v int) Future[int] {
	return FutureFunc[int](func(*Context) (int, error) { return v, nil })
}

// runs runs a task to its end, as a worker does.
func runs[T any](x *explorer.Execution, c *cell[T]) {
	var cx Context
	cx.begin(&c.task)
	x.Require(c.Run(&cx), "it is not done")
	c.completed(&cx, c.task.state.complete())
}

// A pendingTest has three sets with a task each, and a caller that waits for them with a budget of
// one unit. If a pending poll used that unit, the caller would poll again and again, and the
// explorer would report a livelock.
type pendingTest struct {
	*waitTest
	sets  [3]JoinSet[int]
	cells [3]*cell[int]
}

func newPendingTest(x *explorer.Execution) *pendingTest {
	m := &pendingTest{waitTest: newWaitTest(x)}
	m.budget = 1
	rt := withoutWorkers()
	for i := range m.sets {
		m.sets[i].Spawn(rt, constant(i))
		m.cells[i] = m.sets[i].first.handle.cell
	}
	return m
}

func (m *pendingTest) results() []Future[int] {
	var fs []Future[int]
	for i := range m.sets {
		fs = append(fs, m.sets[i].JoinNext())
	}
	return fs
}

func TestExplorePendingPollsOfAJoinUseNoBudget(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := newPendingTest(x)
		x.Go("joins", func() {
			values, err := wait(m.waitTest, Join(m.results()...), false)
			x.Require(err == nil && values[0] == 0 && values[1] == 1 && values[2] == 2, "%v, %v", values, err)
		})
		x.Go("runs", func() {
			for _, i := range []int{2, 0, 1} {
				runs(x, m.cells[i])
			}
		})
	})
}

func TestExplorePendingPollsOfASelectUseNoBudget(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := newPendingTest(x)
		x.Go("selects", func() {
			first, err := wait(m.waitTest, SelectBiased(m.results()...), false)
			x.Require(err == nil && first.Err == nil && first.Index == first.Value, "%v, %v", first, err)
		})
		x.Go("runs", func() { runs(x, m.cells[2]) })
		x.Go("runs too", func() { runs(x, m.cells[1]) })
	})
}

// A task that selects without end returns when its budget is used up, and is scheduled again.
func TestExploreALoopOfSelectsEndsItsRun(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		m := newWaitTest(x)
		m.budget = 2
		rounds := 0
		ready := FutureFunc[int](func(*Context) (int, error) {
			explorer.Step(x, "is ready", &rounds, func() { rounds++ })
			return 0, nil
		})
		x.Go("selects", func() {
			_, _ = wait(m, FutureFunc[int](func(cx *Context) (int, error) {
				for began := rounds; rounds < 5; {
					if _, err := SelectBiased[int](&stepping{x: x}, ready).Poll(cx); err != nil {
						return 0, err
					}
					x.Require(rounds <= began+2, "a run of %d rounds", rounds-began)
				}
				return 0, nil
			}), false)
		})
		x.Go("waker", m.b.task.Wake)
	})
}
