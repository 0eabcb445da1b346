package membudget

import (
	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
)

// A Budget sums the bytes that the connections of one group have buffered, and limits them. Any
// goroutine may use it. It must not be copied.
//
// Await puts the task that finds no memory into the queue, and then checks once more. Freed memory
// is subtracted first, and then WakeNext checks the queue. So either Await sees the memory, or
// WakeNext sees the task.
type Budget struct {
	Max int // bytes, more than 0; fixed before the first call

	own           atomics.Int64 // bytes of the connections themselves
	unsent        atomics.Int64 // of own, bytes that peers may receive; never less than the true number
	forGoroutines atomics.Int64 // received bytes that goroutines have still to read
	waiters       atomics.Int32 // length of queue

	mu    atomics.Mutex
	queue list.List[Waker]
}

// A Waker is a task that waits for memory.
type Waker interface{ Wake() }

// A Waiter is a task's entry in the queue for memory. The zero value is not queued.
type Waiter struct{ node list.Node[Waker] }

// Queued reports whether w is in the queue.
func (b *Budget) Queued(w *Waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return w.node.Listed()
}

// Own is how many bytes the connections themselves have buffered.
func (b *Budget) Own() int64 { return b.own.Load() }

// Buffered is how many bytes the connections and their goroutines have buffered.
func (b *Budget) Buffered() int { return int(b.Own() + b.forGoroutines.Load()) }

// Full reports whether a connection must be reset: see the package comment.
func (b *Budget) Full() bool { return b.Own() >= int64(b.Max) }

// UnderPressure reports whether input that can wait must wait.
func (b *Budget) UnderPressure() bool { return b.Buffered() > b.highWater() }

func (b *Budget) highWater() int { return b.Max / 4 * 3 }

// Await reports whether there is memory. If not, task is woken once when there is.
func (b *Budget) Await(w *Waiter, task Waker) bool {
	if !b.UnderPressure() {
		return true // if w is queued, its wake-up will be passed on
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !w.node.Listed() {
		w.node.Value = task
		b.queue.PushBack(&w.node)
		b.waiters.Store(int32(b.queue.Len()))
	}
	if b.UnderPressure() {
		return false
	}
	b.remove(&w.node)
	return true
}

// remove takes a node out of the queue. The lock is held.
func (b *Budget) remove(n *list.Node[Waker]) {
	b.queue.Remove(n)
	b.waiters.Store(int32(b.queue.Len()))
}

// Cancel takes w out of the queue, if it is queued.
func (b *Budget) Cancel(w *Waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(&w.node)
}

// WakeNext wakes the first task of the queue, if there is memory. It is called after memory was
// freed, and by each task that was woken, even if that task had no use for the memory. It reports
// whether a connection must be reset, because waiting will free no memory.
func (b *Budget) WakeNext() (shed bool) {
	if b.waiters.Load() == 0 {
		return false
	}
	if b.UnderPressure() {
		// unsent may be stale by now. Bytes are counted in own for as long as in unsent.
		return b.unsent.Load() == 0 && b.Own() > int64(b.highWater())
	}
	b.mu.Lock()
	var task Waker
	if next := b.queue.Front(); next != nil {
		task = next.Value // under the lock: its owner may queue it again at once
		b.remove(next)
	}
	b.mu.Unlock()
	if task != nil {
		task.Wake()
	}
	return false
}
