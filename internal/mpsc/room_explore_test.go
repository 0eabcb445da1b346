//go:build explore

package mpsc

import (
	"testing"

	"github.com/suiro-go/suiro/internal/atomics"
	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A hall is a model whose senders wait for room.
type hall struct {
	*model
	lock  atomics.Mutex
	room  Room
	taken int // messages that the process has taken
}

// A waiter is a sender that sits, or has sat.
type waiter struct {
	seat   Seat
	woken  bool
	gaveUp bool
}

func (h *hall) wake(s *Seat) {
	if s != nil {
		w := s.Owner.(*waiter)
		explorer.Step(h.x, "wakes a sender", &w.woken, func() { w.woken = true })
	}
}

// try is a send that does not wait.
func (h *hall) try(v int) (sent bool) {
	if !h.mailbox.Reserve() {
		return false
	}
	if _, first := h.mailbox.Put(h.node(v)); first && h.state.Notify(Message) {
		h.model.wake()
	}
	return true
}

// wait sends, and waits for room. It reports false if it has given up.
func (h *hall) wait(w *waiter, v int) (sent bool) {
	w.seat.Owner = w
	for !h.try(v) {
		h.lock.Lock()
		h.mailbox.Sit(&h.room, &w.seat)
		h.lock.Unlock()
		if h.try(v) {
			break
		}
		gaveUp := false
		explorer.Rest(h.x, "waits for room", &w.woken, func() bool { return w.woken || w.gaveUp }, func() { w.woken, gaveUp = false, w.gaveUp })
		if gaveUp {
			h.leave(w)
			return false
		}
	}
	h.leave(w)
	return true
}

func (h *hall) leave(w *waiter) {
	h.lock.Lock()
	next := h.mailbox.Leave(&h.room, &w.seat)
	h.lock.Unlock()
	h.wake(next)
}

// task is the process. It takes single messages: room is freed one by one.
func (h *hall) task() {
	h.woken = true
	h.x.Go("task", func() {
		for {
			explorer.Rest(h.x, "sleeps", &h.woken, func() bool { return h.woken }, func() { h.woken = false })
			for again := true; again; {
				h.state.Begin()
				for n := h.mailbox.Take(); n != nil; n = n.Next {
					h.taken++
					h.mailbox.Free(1)
					h.freed()
				}
				again = h.state.Settle(Idle)
			}
		}
	})
}

// freed is called after room was made for one message.
func (h *hall) freed() {
	if !h.mailbox.Waiting() {
		return
	}
	h.lock.Lock()
	next := h.mailbox.Call(&h.room)
	h.lock.Unlock()
	h.wake(next)
}

func inAHall(t *testing.T, preemptions int, limit int32, scenario func(h *hall)) {
	t.Helper()
	explored(t, preemptions, func(m *model) {
		h := &hall{model: m}
		m.mailbox.limit = limit
		h.task()
		scenario(h)
	})
}

// All senders that wait for room get some.
func TestExploreSendersThatWait(t *testing.T) {
	for name, limit := range map[string]int32{"one place": 1, "two places": 2} {
		t.Run(name, func(t *testing.T) {
			inAHall(t, 2, limit, func(h *hall) {
				for i, name := range []string{"a", "b", "c"} {
					h.x.Go(name, func() { h.wait(new(waiter), i) })
				}
				h.x.Finally(func() { h.x.Require(h.taken == 3, "%d messages were taken: a sender waits for nothing", h.taken) })
			})
		})
	}
	t.Run("beside one that does not", func(t *testing.T) {
		inAHall(t, 2, 1, func(h *hall) {
			sent := 0
			h.x.Go("a", func() { h.wait(new(waiter), 1) })
			h.x.Go("b", func() { h.wait(new(waiter), 2) })
			h.x.Go("c", func() {
				if h.try(3) {
					sent = 1
				}
			})
			h.x.Finally(func() { h.x.Require(h.taken == 2+sent, "%d messages were taken: a sender waits for nothing", h.taken) })
		})
	})
}

// A sender that gives up, perhaps after it was called, takes no room from the others.
func TestExploreASenderThatGivesUp(t *testing.T) {
	inAHall(t, 2, 1, func(h *hall) {
		w, lost := new(waiter), 0
		h.x.Go("a", func() {
			if !h.wait(w, 1) {
				lost = 1
			}
		})
		h.x.Go("b", func() { h.wait(new(waiter), 2); h.wait(new(waiter), 3) })
		h.x.Go("c", func() { explorer.Step(h.x, "makes a give up", &w.woken, func() { w.gaveUp = true }) })
		h.x.Finally(func() {
			h.x.Require(h.taken+lost == 3, "%d messages were taken, %d given up: a sender waits for nothing", h.taken, lost)
		})
	})
}
