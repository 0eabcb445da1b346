package chanx

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A broadcast is the state that the handles of a broadcast channel share: a ring of the latest
// values, as in Tokio (tokio/src/sync/broadcast.rs). Each receiver has its own position in it. A
// slot is locked while its value is written or copied. Receivers that do not wait lock nothing
// else. Lock order: mu before a slot's lock.
type broadcast[T any] struct {
	slots   []broadcastSlot[T]
	mask    uint64
	sending atomic.Int64 // number of handles

	mu        sync.Mutex
	next      uint64 // position of the next value
	receiving int    // number of handles
	ended     bool   // no more values will be sent

	waiters waitQueue
	closers waitQueue // senders that wait until there is no receiver
}

type broadcastSlot[T any] struct {
	mu    sync.RWMutex
	turn  uint64 // 1 + the position of value; 0: there is none
	value T
}

// NewBroadcast makes a channel, and returns the first handle of each side. Each receiver gets each
// value that is sent after the receiver was made. A receiver that is more than capacity values
// behind has lost the oldest ones. It gets a LaggedError with their number, and then goes on with
// those that are left. This does not affect other receivers.
//
// The capacity must be between 1 and 1<<30; otherwise NewBroadcast panics. It is rounded up to a
// power of two. The latest values are kept until others replace them, even when all receivers have
// received them.
func NewBroadcast[T any](capacity int) (*BroadcastSender[T], *BroadcastReceiver[T]) {
	if capacity < 1 || capacity > 1<<30 {
		panic(fmt.Sprintf("chanx: NewBroadcast: capacity %d is not between 1 and %d", capacity, 1<<30))
	}
	size := 1 << bits.Len(uint(capacity-1))
	c := &broadcast[T]{slots: make([]broadcastSlot[T], size), mask: uint64(size - 1), receiving: 1}
	c.sending.Store(1)
	return &BroadcastSender[T]{ch: c}, newBroadcastReceiver(c, 0)
}

// send replaces the oldest value by v.
func (c *broadcast[T]) send(ctx context.Context, v T) (receivers int, err error) {
	c.mu.Lock()
	if c.receiving == 0 || c.ended {
		c.mu.Unlock()
		return 0, ErrClosed
	}
	receivers = c.receiving
	pos := c.next
	c.next++
	s := &c.slots[pos&c.mask]
	s.mu.Lock()
	s.value, s.turn = v, pos+1
	s.mu.Unlock()
	c.mu.Unlock()
	if c.waiters.some() {
		c.waiters.wakeAll(sched.FromContext(ctx), woken)
	}
	return receivers, nil
}

// receive returns the value at a position and the next position. A receiver that has lagged gets
// the position at which it goes on.
func (c *broadcast[T]) receive(pos uint64) (v T, next uint64, err error) {
	s := &c.slots[pos&c.mask]
	s.mu.RLock()
	if s.turn == pos+1 {
		v = s.value
		s.mu.RUnlock()
		return v, pos + 1, nil
	}
	s.mu.RUnlock()

	c.mu.Lock()
	defer c.mu.Unlock()
	switch size := c.mask + 1; {
	case c.next-pos > size: // pos is never beyond next
		oldest := c.next - size
		return v, oldest, LaggedError{Missed: oldest - pos}
	case c.next > pos:
		return s.value, pos + 1, nil // sent meanwhile; nobody writes a slot without mu
	case c.ended:
		return v, pos, ErrClosed
	default:
		return v, pos, ErrEmpty
	}
}

// end is called by the close of the last sender.
func (c *broadcast[T]) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.waiters.wakeAll(nil, woken)
}

// A BroadcastSender is a handle of the sending side of a broadcast channel. Its methods may be
// called from any goroutine, and concurrently. It must not be copied: Clone makes another handle.
// When the last one is closed, receivers get the remaining values and then ErrClosed.
type BroadcastSender[T any] struct {
	ch     *broadcast[T]
	closed atomic.Bool
}

// Send sends v to all current receivers, and returns their number. It never waits. If there are
// none, the error is ErrClosed, and v has not been sent; Subscribe can add receivers later. With
// the context of the task that calls it, waking is cheaper. Send costs one wake-up for each waiting
// receiver.
func (s *BroadcastSender[T]) Send(ctx context.Context, v T) (receivers int, err error) {
	if s.closed.Load() {
		return 0, ErrClosed
	}
	return s.ch.send(ctx, v)
}

// Subscribe returns a new receiver of the values that are sent from now on.
func (s *BroadcastSender[T]) Subscribe() *BroadcastReceiver[T] {
	c := s.ch
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receiving++
	return newBroadcastReceiver(c, c.next)
}

// Clone returns another handle of the same channel, which must be closed separately. It panics if
// this one has been closed.
func (s *BroadcastSender[T]) Clone() *BroadcastSender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed BroadcastSender")
	}
	return &BroadcastSender[T]{ch: s.ch}
}

// Close closes the handle: later Sends on it fail with ErrClosed. If it was the last one,
// receivers are woken. Further calls do nothing.
func (s *BroadcastSender[T]) Close() {
	if !s.closed.Swap(true) && s.ch.sending.Add(-1) == 0 {
		s.ch.end()
	}
}

// Receivers is the number of receivers.
func (s *BroadcastSender[T]) Receivers() int {
	s.ch.mu.Lock()
	defer s.ch.mu.Unlock()
	return s.ch.receiving
}
