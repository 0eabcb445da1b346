package chanx

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A broadcast is what the handles of a broadcast channel share: a ring of the values that
// were sent last, as in Tokio (tokio/src/sync/broadcast.rs). Each receiver has a position
// of its own in it. A slot is locked while its value is written or copied; receivers that
// do not wait touch nothing else. The order is mu before a slot's lock.
type broadcast[T any] struct {
	slots   []broadcastSlot[T]
	mask    uint64
	sending atomic.Int64 // handles

	mu        sync.Mutex
	next      uint64 // position of the next value
	receiving int    // handles
	ended     bool   // no more will be sent

	waiters waitQueue
}

type broadcastSlot[T any] struct {
	mu    sync.RWMutex
	turn  uint64 // 1 + the position of value; 0: there is none
	value T
}

// NewBroadcast makes a channel of which each receiver gets each value that is sent after
// it was made, and the first handle of each side. A receiver that is more than capacity
// values behind has lost the oldest: it gets a LaggedError that says how many, and then
// goes on with those that are left. Others are not concerned.
//
// The capacity is rounded up to a power of two. It is at least 1 and at most 1<<30; it
// panics otherwise. The last values are kept until others take their places, also when
// all have received them.
func NewBroadcast[T any](capacity int) (*BroadcastSender[T], *BroadcastReceiver[T]) {
	if capacity < 1 || capacity > 1<<30 {
		panic(fmt.Sprintf("chanx: NewBroadcast: capacity %d is not between 1 and %d", capacity, 1<<30))
	}
	size := 1 << bits.Len(uint(capacity-1))
	c := &broadcast[T]{slots: make([]broadcastSlot[T], size), mask: uint64(size - 1), receiving: 1}
	c.sending.Store(1)
	return &BroadcastSender[T]{ch: c}, newBroadcastReceiver(c, 0)
}

// send puts a value where the oldest is.
func (c *broadcast[T]) send(cx *sched.Context, v T) (receivers int, err error) {
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
		c.waiters.wakeAll(cx, told)
	}
	return receivers, nil
}

// receive is the value at a position. A receiver that has lagged gets the position to go
// on at.
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
		return s.value, pos + 1, nil // it came meanwhile; nobody writes without mu
	case c.ended:
		return v, pos, ErrClosed
	default:
		return v, pos, ErrEmpty
	}
}

// end is what the last sender does.
func (c *broadcast[T]) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.waiters.wakeAll(nil, told)
}

// A BroadcastSender is a handle of the sending side of a broadcast channel. Its methods
// may be called from any goroutine, and at once. It must not be copied: Clone gives
// others one of their own. When the last one is closed, receivers get what has been sent
// and then ErrClosed.
type BroadcastSender[T any] struct {
	ch     *broadcast[T]
	closed atomic.Bool
}

// Send sends v to all receivers there are, and returns how many those are. It never
// waits. The error is ErrClosed if there are none, and v has not been sent; there may be
// some again after Subscribe. cx is that of the running task, with which waking costs
// less, or nil outside of tasks. It costs one wake-up for each receiver that waits.
func (s *BroadcastSender[T]) Send(cx *sched.Context, v T) (receivers int, err error) {
	if s.closed.Load() {
		return 0, ErrClosed
	}
	return s.ch.send(cx, v)
}

// Subscribe is a new receiver, of what is sent from now on.
func (s *BroadcastSender[T]) Subscribe() *BroadcastReceiver[T] {
	c := s.ch
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receiving++
	return newBroadcastReceiver(c, c.next)
}

// Clone is another handle of the same channel, which is to be closed on its own. It
// panics if this one has been closed.
func (s *BroadcastSender[T]) Clone() *BroadcastSender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed BroadcastSender")
	}
	return &BroadcastSender[T]{ch: s.ch}
}

// Close gives the handle up: a Send on it fails from then on with ErrClosed. If it was the
// last one, receivers are told. Calls after the first do nothing.
func (s *BroadcastSender[T]) Close() {
	if !s.closed.Swap(true) && s.ch.sending.Add(-1) == 0 {
		s.ch.end()
	}
}

// Receivers is how many there are.
func (s *BroadcastSender[T]) Receivers() int {
	s.ch.mu.Lock()
	defer s.ch.mu.Unlock()
	return s.ch.receiving
}

// Cap is how many values a receiver may be behind.
func (s *BroadcastSender[T]) Cap() int { return len(s.ch.slots) }
