//go:build explore

package sched

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A heldThing counts how often a task has acquired it and given it back.
type heldThing struct {
	x           *explorer.Execution
	taken, back int
}

func (h *heldThing) take() {
	explorer.Step(h.x, "acquires it", &h.taken, func() { h.taken++ })
}

// Release makes the thing a result that shows itself.
func (h *heldThing) Release() {
	explorer.Step(h.x, "gives it back", &h.taken, func() {
		h.back++
		h.x.Require(h.back <= h.taken, "acquired %d times, given back %d times", h.taken, h.back)
	})
}

// acquiring is a future that acquires a thing that its value does not show.
type acquiring struct{ of *heldThing }

func (a acquiring) Poll(*Context) (int, error) {
	a.of.take()
	return 1, nil
}

func (a acquiring) Undo() { a.of.Release() }

// showing is a future whose value is the thing that it acquires.
type showing struct{ of *heldThing }

func (s showing) Poll(*Context) (*heldThing, error) {
	s.of.take()
	return s.of, nil
}

// A task acquires a thing while its handle is detached and while it is aborted. The thing is given
// back, once.
func TestExploreADetachedTaskKeepsNothing(t *testing.T) {
	t.Run("in its future", func(t *testing.T) {
		detaches(t, func(h *heldThing) Future[int] { return acquiring{h} })
	})
	t.Run("in its result", func(t *testing.T) {
		detaches(t, func(h *heldThing) Future[*heldThing] { return showing{h} })
	})
	t.Run("in a Join in its future", func(t *testing.T) {
		detaches(t, func(h *heldThing) Future[Pair[int, *heldThing]] {
			return Join2[int, *heldThing](acquiring{h}, showing{h})
		})
	})
}

func detaches[T any](t *testing.T, f func(h *heldThing) Future[T]) {
	explorer.Explore(t, explorer.Options{Preemptions: 3, Plain: true}, func(x *explorer.Execution) {
		rt, thing := withoutWorkers(), &heldThing{x: x}
		c := newCell(rt, nil, f(thing), nil, 2*oneRef)
		handle, abort := &JoinHandle[T]{cell: c}, AbortHandle{c.task.Waker()}
		x.Go("worker", func() {
			var cx Context
			cx.begin(&c.task)
			x.Require(c.Run(&cx), "it is not done")
			c.completed(nil, c.task.state.complete())
		})
		x.Go("holder", handle.Detach)
		x.Go("aborter", abort.Abort)
		x.Finally(func() {
			x.Require(thing.back == thing.taken, "acquired %d times, given back %d times", thing.taken, thing.back)
		})
	})
}
