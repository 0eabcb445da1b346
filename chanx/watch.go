package chanx

import (
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// A watch is what the handles of a watch channel share.
type watch[T any] struct {
	// The version of value, which goes up by 2 with each, and whether the channel has
	// ended, in bit 0. Written under mu, so that receivers which have seen the latest
	// need not take it.
	version   atomic.Uint64
	sending   atomic.Int64 // handles
	receiving atomic.Int64 // handles

	mu    sync.RWMutex // guards value; held while others' functions modify it
	value T

	waiters waitQueue
}

const (
	watchEnded   = 1
	watchVersion = 2
)

// NewWatch makes a channel that holds one value, the latest, and the first handle of each
// side. Receivers learn that there is a new one, and may miss those in between: for
// configuration, progress or a state. The initial value counts as seen.
func NewWatch[T any](initial T) (*WatchSender[T], *WatchReceiver[T]) {
	c := &watch[T]{value: initial}
	c.sending.Store(1)
	c.receiving.Store(1)
	return &WatchSender[T]{ch: c}, newWatchReceiver(c, 0)
}

// get is the value and its version.
func (c *watch[T]) get() (T, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.value, c.version.Load() &^ watchEnded
}

// A WatchSender is a handle of the sending side of a watch channel. Its methods may be
// called from any goroutine, and at once. It must not be copied: Clone gives others one
// of their own. When the last one is closed, receivers that have not seen the latest
// value get it, and then ErrClosed.
type WatchSender[T any] struct {
	ch     *watch[T]
	closed atomic.Bool
}

// Send makes v the value. It never waits. The error is ErrClosed if there is no receiver,
// and the value is what it was; there may be some again after Subscribe. cx is that of
// the running task, with which waking costs less, or nil outside of tasks. It costs one
// wake-up for each receiver that waits.
func (s *WatchSender[T]) Send(cx *sched.Context, v T) error {
	if s.closed.Load() || s.ch.receiving.Load() == 0 {
		return ErrClosed
	}
	s.set(cx, func(value *T) bool { *value = v; return true })
	return nil
}

// Modify has f change the value in place, whether there are receivers or not. f reports
// whether it has: if not, receivers learn nothing. It must not use the channel. The error
// is ErrClosed if this handle is.
func (s *WatchSender[T]) Modify(cx *sched.Context, f func(value *T) (changed bool)) error {
	if s.closed.Load() {
		return ErrClosed
	}
	s.set(cx, f)
	return nil
}

func (s *WatchSender[T]) set(cx *sched.Context, f func(value *T) bool) {
	c := s.ch
	if c.modify(f) && c.waiters.some() {
		c.waiters.wakeAll(cx, told)
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

// Subscribe is a new receiver, which has seen the latest value.
func (s *WatchSender[T]) Subscribe() *WatchReceiver[T] {
	s.ch.receiving.Add(1)
	_, version := s.ch.get()
	return newWatchReceiver(s.ch, version)
}

// Clone is another handle of the same channel, which is to be closed on its own. It
// panics if this one has been closed.
func (s *WatchSender[T]) Clone() *WatchSender[T] {
	if s.closed.Load() || !increase(&s.ch.sending) {
		panic("chanx: Clone of a closed WatchSender")
	}
	return &WatchSender[T]{ch: s.ch}
}

// Close gives the handle up: a Send on it fails from then on with ErrClosed. If it was the
// last one, receivers are told. Calls after the first do nothing.
func (s *WatchSender[T]) Close() {
	if s.closed.Swap(true) || s.ch.sending.Add(-1) > 0 {
		return
	}
	s.ch.mu.Lock()
	s.ch.version.Add(watchEnded) // once: there is no handle left
	s.ch.mu.Unlock()
	s.ch.waiters.wakeAll(nil, told)
}

// Receivers is how many there are.
func (s *WatchSender[T]) Receivers() int { return int(s.ch.receiving.Load()) }
