package chanx

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A watch is the state that the handles of a watch channel share.
type watch[T any] struct {
	// version is the version of value, which increases by 2 with each value. Bit 0 says that the
	// channel has ended. It is written under mu. So receivers that have seen the latest value need
	// not take mu.
	version   atomic.Uint64
	sending   atomic.Int64 // number of handles
	receiving atomic.Int64 // number of handles

	mu    sync.RWMutex // guards value; held while users' functions modify it
	value T

	waiters waitQueue
	closers waitQueue // senders that wait until there is no receiver
}

const (
	watchEnded   = 1
	watchVersion = 2
)

// NewWatch makes a channel that holds one value, the latest. It returns the first handle of each
// side.
// Receivers learn that there is a new value, and may miss values in between. Use it for
// configuration, progress or a state. The initial value counts as seen.
func NewWatch[T any](initial T) (*WatchSender[T], *WatchReceiver[T]) {
	c := &watch[T]{value: initial}
	c.sending.Store(1)
	c.receiving.Store(1)
	return &WatchSender[T]{ch: c}, newWatchReceiver(c, 0)
}

// get returns the value and its version.
func (c *watch[T]) get() (T, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.value, c.version.Load() &^ watchEnded
}

// A WatchSender is a handle of the sending side of a watch channel. Its methods may be called from
// any goroutine, and concurrently. It must not be copied: Clone makes another handle. When the
// last one is closed, receivers that have not seen the latest value get it, and then ErrClosed.
type WatchSender[T any] struct {
	ch     *watch[T]
	closed atomic.Bool
}

// Send makes v the value. It never waits. If there is no receiver, the error is ErrClosed, and the
// value does not change; Subscribe can add receivers later. With the context of the task that calls
// it, waking is cheaper. Send costs one wake-up for each waiting receiver.
func (s *WatchSender[T]) Send(ctx context.Context, v T) error {
	if s.closed.Load() || s.ch.receiving.Load() == 0 {
		return ErrClosed
	}
	s.set(ctx, func(value *T) bool { *value = v; return true })
	return nil
}

// Modify calls f to change the value in place, whether there are receivers or not. f reports
// whether it has changed the value; if not, receivers are not notified. f must not use the
// channel. The error is ErrClosed if this handle is closed.
func (s *WatchSender[T]) Modify(ctx context.Context, f func(value *T) (changed bool)) error {
	if s.closed.Load() {
		return ErrClosed
	}
	s.set(ctx, f)
	return nil
}

func (s *WatchSender[T]) set(ctx context.Context, f func(value *T) bool) {
	c := s.ch
	if c.modify(f) && c.waiters.some() {
		c.waiters.wakeAll(sched.FromContext(ctx), woken)
	}
}

func (c *watch[T]) modify(f func(value *T) bool) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock() // also if f panics
	if changed = f(&c.value); changed {
		c.version.Add(watchVersion)
	}
	return changed
}

// Value is the latest value.
func (s *WatchSender[T]) Value() T {
	v, _ := s.ch.get()
	return v
}

// Subscribe returns a new receiver. The latest value counts as seen.
func (s *WatchSender[T]) Subscribe() *WatchReceiver[T] {
	s.ch.receiving.Add(1)
	_, version := s.ch.get()
	return newWatchReceiver(s.ch, version)
}

// Clone returns another handle of the same channel, which must be closed separately. It panics if
// this one has been closed.
func (s *WatchSender[T]) Clone() *WatchSender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed WatchSender")
	}
	return &WatchSender[T]{ch: s.ch}
}

// Close closes the handle: later Sends on it fail with ErrClosed. If it was the last one,
// receivers are woken. Further calls do nothing.
func (s *WatchSender[T]) Close() {
	if s.closed.Swap(true) || s.ch.sending.Add(-1) > 0 {
		return
	}
	s.ch.mu.Lock()
	s.ch.version.Add(watchEnded) // added once: there is no handle left
	s.ch.mu.Unlock()
	s.ch.waiters.wakeAll(nil, woken)
}
