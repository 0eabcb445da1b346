package sched

import (
	"log/slog"
	"math/bits"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// An eventRing keeps the last events of one worker. Only the worker writes. Any goroutine reads,
// and sees no event that is mixed of two: it drops the events that the worker may have been writing
// over meanwhile.
//
// The worker writes the two words of event number n into slot n modulo the size, and then raises
// head to n+1. A reader loads head, then copies the slots, then loads head again: the worker was
// writing number head at most. That event lies in the slot of number head minus the size. So the
// reader keeps the events after that one. All these steps are sequentially consistent.
type eventRing struct {
	slots []eventSlot // a power of two of them
	head  atomics.Uint64

	// Only the worker uses these:
	next  uint64 // head
	last  time.Duration
	fresh bool         // last is the time of the next event as well, nearly
	log   *slog.Logger // of SUIRO_DEBUG=sched; nil: none
}

// An eventSlot is an event in two words.
//
//	when  bits 8-63   Runtime.Now
//	      bits 0-7    the kind
//	what  bits 48-63  N, at most 65,535
//	      bits 0-47   the task
type eventSlot struct{ when, what atomics.Uint64 }

const (
	taskBits     = 48
	mostEventN   = 1<<16 - 1
	mostEvents   = 1 << 20 // of a worker
	fewestEvents = 16
)

// newEventRing returns a ring for at least size events; nil for 0 or less.
func newEventRing(size int) *eventRing {
	if size <= 0 {
		return nil
	}
	size = min(max(size, fewestEvents), mostEvents)
	return &eventRing{slots: make([]eventSlot, 1<<bits.Len(uint(size-1)))}
}

// put writes an event. Only the worker calls it.
func (r *eventRing) put(s uint64, what uint64) {
	slot := &r.slots[r.next&uint64(len(r.slots)-1)]
	slot.when.Store(s)
	slot.what.Store(what)
	r.next++
	r.head.Store(r.next)
}

// read calls f for the events that are in the ring, the oldest first.
func (r *eventRing) read(f func(number, when, what uint64)) {
	size, head := uint64(len(r.slots)), r.head.Load()
	from := head - min(head, size)
	copies := make([][2]uint64, 0, head-from)
	for n := from; n < head; n++ {
		slot := &r.slots[n&(size-1)]
		copies = append(copies, [2]uint64{slot.when.Load(), slot.what.Load()})
	}
	now := r.head.Load()
	for i, c := range copies {
		if n := from + uint64(i); n+size > now {
			f(n, c[0], c[1])
		}
	}
}
