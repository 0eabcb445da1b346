//go:build explore

package sched

import (
	"context"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A waitTest has threads that wait as a goroutine does in Wait. It uses the production code of
// blocker and its task's state, but a thread's wait instead of the channel.
type waitTest struct {
	x      *explorer.Execution
	b      *blocker
	budget int32 // of each run; 0: the usual one
}

func newWaitTest(x *explorer.Execution) *waitTest {
	b := makeBlocker(make(chan struct{}, 1))
	b.task.renew(stateScheduled)
	return &waitTest{x: x, b: b}
}

// wait polls f until it is done. If rests is set, the thread need not be woken.
func wait[T any](s *waitTest, f Future[T], rests bool) (T, error) {
	sleep := explorer.Wait[blocker]
	if rests {
		sleep = explorer.Rest[blocker]
	}
	for {
		s.b.cx.begin(&s.b.task)
		if s.budget > 0 {
			s.b.cx.budget = s.budget
		}
		if v, err := f.Poll(&s.b.cx); err != ErrPending {
			return v, err
		}
		if s.b.task.state.suspend() {
			continue
		}
		sleep(s.x, "to be woken", s.b, func() bool { return len(s.b.woke) > 0 }, func() { <-s.b.woke })
	}
}

// stepping is a future that is never done. Abandoning it is a step of the exploration.
type stepping struct {
	x       *explorer.Execution
	cancels int
}

func (*stepping) Poll(*Context) (int, error) { return 0, ErrPending }

func (s *stepping) Cancel() {
	explorer.Step(s.x, "is abandoned", &s.cancels, func() { s.cancels++ })
}

// Two goroutines give up a shielded wait. Each ends its own shield, once.
func TestExploreShieldsOfGoroutines(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		blockers = nil
		for _, name := range []string{"one", "two"} {
			f := &stepping{x: x}
			x.Go(name, func() {
				_, err := Await(ended, Shield[int](f))
				x.Require(err == context.Canceled && f.cancels == 1, "%v, abandoned %d times", err, f.cancels)
			})
		}
		x.Finally(func() {
			for _, b := range blockers {
				x.Require(b.task.state.word.Load()&shieldMask == 0, "a shield is left up")
			}
		})
	})
}

// Four waiters wait for a tracker, which is more than one batch of wake-ups. While they are woken,
// one of them gives up, a task is tracked, and one more waiter arrives. That waiter must wait for
// the task's end.
func TestExploreATrackersWaitIsForWhatIsTracked(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		tracker := new(TaskTracker)
		tracker.state.Store(oneTracked | trackerClosed)
		var waits [5]trackerWait
		for i := range waits {
			waits[i].tracker = tracker
		}
		look := func(i int) error {
			s := newWaitTest(x)
			s.b.cx.begin(&s.b.task)
			_, err := waits[i].Poll(&s.b.cx)
			return err
		}
		for i := range waits[:4] {
			x.Require(look(i) == ErrPending, "done, with a task")
		}
		ended := false
		x.Go("ends", func() { tracker.taskEnds(nil) })
		x.Go("late", func() {
			ended = tracker.state.Add(oneTracked)&trackedMask == oneTracked
			waits[3].Cancel()
			x.Require(look(4) == ErrPending, "done, with a task")
		})
		x.Finally(func() {
			x.Require(look(4) == ErrPending, "done, though there has always been a task")
			for i := range waits[:3] {
				x.Require(!ended || !waits[i].node.Listed(), "one who has waited was not woken")
				x.Require((look(i) == nil) == ended, "one who has waited was not told")
			}
		})
	})
}

// withoutWorkers is a runtime that has started, and accepts tasks that no worker runs.
func withoutWorkers() *Runtime {
	rt := &Runtime{stopped: make(chan struct{})}
	rt.startOnce.Do(func() {})
	depotOf[int](rt).put(nil, depotOf[int](rt).get(nil)) // so that the memory has been allocated
	return rt
}

// A set has a running task, and several callers wait for its next result. Another task is refused,
// and one of the callers gets that error. A Cancel that uses the set meets no lock.
func TestExploreARefusedTaskOfASet(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 1}, func(x *explorer.Execution) {
		refuses, set := withoutWorkers(), new(JoinSet[int])
		refuses.endTasks()
		set.Spawn(withoutWorkers(), &stepping{x: x})
		got := 0
		for _, name := range []string{"one", "two", "three"} {
			s := newWaitTest(x)
			x.Go(name, func() {
				_, err := wait(s, set.JoinNext(), true)
				x.Require(err == ErrClosed, "%v", err)
				explorer.Step(x, "has the refusal", &got, func() { got++ })
			})
		}
		x.Go("spawns", func() {
			set.Spawn(refuses, abandoned{func() { x.Require(set.Len() == 2, "the refused task is not in the set") }})
		})
		x.Finally(func() { x.Require(got == 1 && set.Len() == 1, "%d have the refusal, %d are left", got, set.Len()) })
	})
}

// abandoned is a future that is never done and calls a function when it is abandoned.
type abandoned struct{ f func() }

func (abandoned) Poll(*Context) (int, error) { return 0, ErrPending }
func (a abandoned) Cancel()                  { a.f() }

// A runtime ends while a task is spawned into a set and a caller waits for that task.
func TestExploreASetAgainstItsRuntimesEnd(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2}, func(x *explorer.Execution) {
		rt, set := withoutWorkers(), new(JoinSet[int])
		spawned := false
		s := newWaitTest(x)
		x.Go("spawns", func() {
			set.Spawn(rt, &stepping{x: x})
			explorer.Step(x, "has spawned", &spawned, func() { spawned = true })
		})
		x.Go("ends", rt.endTasks)
		x.Go("joins", func() {
			explorer.Wait(x, "the spawn", &spawned, func() bool { return spawned }, nil)
			_, err := wait(s, set.JoinNext(), false)
			x.Require(err == ErrClosed, "%v", err)
		})
		x.Finally(func() {
			x.Require(set.Len() == 0 && set.ended == nil, "%d are left in the set", set.Len())
		})
	})
}

// AbortAll runs while a task is spawned: if it finds the task in the set, it aborts it.
func TestExploreASpawnAgainstAnAbortOfAll(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2, Plain: true}, func(x *explorer.Execution) {
		rt, set := withoutWorkers(), new(JoinSet[int])
		found := false
		x.Go("spawns", func() { set.Spawn(rt, &stepping{x: x}) })
		x.Go("aborts", func() {
			found = set.Len() == 1
			set.AbortAll()
		})
		x.Finally(func() {
			x.Require(!found || set.first.handle.cell.task.state.word.Load()&canceled != 0, "it was found and not aborted")
		})
	})
}
