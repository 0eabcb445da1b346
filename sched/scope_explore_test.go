//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// takesTasks is a runtime like withoutWorkers, whose only depot is that of a scope's tasks. So the
// runtime's end always begins with the same depot.
func takesTasks() *Runtime {
	rt := &Runtime{stopped: make(chan struct{})}
	rt.startOnce.Do(func() {})
	depotOf[struct{}](rt).put(nil, depotOf[struct{}](rt).get(nil)) // so that the memory has been allocated
	return rt
}

// Close runs concurrently with a spawn: either it aborts the task, or the task is refused.
func TestExploreAScopesCloseAgainstASpawn(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2, Plain: true}, func(x *explorer.Execution) {
		rt, scope := takesTasks(), new(TaskScope)
		var h *JoinHandle[struct{}]
		x.Go("spawns", func() { h = scope.Go(rt, func(*Context) error { return nil }) })
		x.Go("closes", scope.Close)
		x.Finally(func() {
			due := h.Done() || h.cell.task.state.word.Load()&canceled != 0
			x.Require(due, "the task is neither aborted nor refused")
			x.Require(h.Done() == (scope.Len() == 0), "%d tasks are counted", scope.Len())
		})
	})
}

// CloseIfEmpty runs concurrently with a spawn: either it sees the task, or the task is refused.
func TestExploreAScopeThatClosesIfItIsEmpty(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2, Plain: true}, func(x *explorer.Execution) {
		rt, scope := takesTasks(), new(TaskScope)
		var h *JoinHandle[struct{}]
		empty := false
		x.Go("spawns", func() { h = scope.Go(rt, func(*Context) error { return nil }) })
		x.Go("closes", func() { empty = scope.CloseIfEmpty() })
		x.Finally(func() {
			x.Require(!empty || h.Done(), "a task lives in a scope that is closed and empty")
			x.Require(h.Done() == (scope.first == nil), "the list has a task that has ended")
		})
	})
}

// The end of a runtime runs concurrently with a spawn.
func TestExploreAScopeAgainstItsRuntimesEnd(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 2, Plain: true}, func(x *explorer.Execution) {
		rt, scope := takesTasks(), new(TaskScope)
		var h *JoinHandle[struct{}]
		x.Go("spawns", func() { h = scope.Go(rt, func(*Context) error { return nil }) })
		x.Go("ends", rt.endTasks)
		x.Finally(func() {
			x.Require(h.Done(), "the task lives")
			x.Require(scope.Len() == 0 && scope.first == nil, "%d tasks are left", scope.Len())
		})
	})
}
