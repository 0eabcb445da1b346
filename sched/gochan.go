package sched

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/suiro-go/suiro/internal/background"
)

// ErrChanClosed is the error of a Recv whose channel is closed and drained. It matches
// os.ErrClosed.
var ErrChanClosed = fmt.Errorf("sched: receive from a closed channel: %w", os.ErrClosed)

// Recv is a future of one value from a Go channel. Its error is ErrChanClosed when the channel is
// closed and drained. A nil channel is never ready. It uses budget (see Context.Proceed). For
// channels between tasks, package chanx costs less.
//
// A dropped Recv loses no value: a value that had been received for it is kept for the next Recv
// of that channel. Such a value is no longer in the channel. So all receivers of a channel that is
// used in a Select should use Recv (goroutines: Wait with Recv). A direct receive does not see a
// kept value. The value is freed with the channel.
//
// To receive an available value takes about 0.2 µs. A wait needs a goroutine, since a Go channel
// wakes only goroutines: one for each channel on which tasks wait, however many tasks wait on it.
// It costs about 1 µs and 2 KB, and ends with the wait. (One goroutine with reflect.Select for all
// channels took 9 µs with 16 of them and 200 µs with 256.)
func Recv[T any](ch <-chan T) Future[T] { return &chanRecv[T]{ch: ch} }

type chanRecv[T any] struct {
	ch   <-chan T
	key  tapKey // of the channel; set when Recv first waits
	node waitNode
}

// A tap is the state of a channel on which tasks wait, or whose value is kept because its Recv was
// dropped. Its shard's lock guards its fields. Two invariants hold whenever the lock is free.
// Either there is a value, or a helper receives; the helper is told to stop if nobody waits. If
// there is a value and somebody waits, one waiter was woken for it and has not yet polled or been
// abandoned.
type tap[T any] struct {
	value   T
	has     bool
	stop    chan struct{} // stops the helper that receives; nil: there is no helper
	told    bool          // the helper was told to stop
	waiters waitList
	cleanup runtime.Cleanup // of a kept value
	kept    bool
}

// A tapKey names a channel without keeping it in memory. Otherwise a value that was left in a tap
// would keep its unused channel in the map.
type tapKey = weak.Pointer[byte]

type tapShard struct {
	mu   sync.Mutex
	taps map[tapKey]any // *tap[T]
	_    [40]byte
}

var (
	tapShards [16]tapShard
	tapCount  atomic.Int64 // of all shards; while it is 0, no channel is looked up
)

// chanObject is the heap object of the channel.
func chanObject[T any](ch <-chan T) *byte { return (*byte)(reflect.ValueOf(ch).UnsafePointer()) }

func shardOf[T any](ch <-chan T) *tapShard {
	return &tapShards[reflect.ValueOf(ch).Pointer()>>7%uintptr(len(tapShards))]
}

// tryRecv receives a value if that needs no wait.
func tryRecv[T any](ch <-chan T) (T, error) {
	select {
	case v, ok := <-ch:
		if !ok {
			return v, ErrChanClosed
		}
		return v, nil
	default:
		return *new(T), ErrPending
	}
}

func (f *chanRecv[T]) Poll(cx *Context) (v T, err error) {
	if f.ch == nil || !cx.Proceed() {
		return v, ErrPending
	}
	if v, err = f.poll(cx.Waker()); err == ErrPending {
		cx.Refund()
	}
	return v, err
}

// poll is a poll that may receive a value.
func (f *chanRecv[T]) poll(w Waker) (v T, err error) {
	if f.key == (tapKey{}) {
		if tapCount.Load() == 0 {
			if v, err = tryRecv(f.ch); err != ErrPending {
				return v, err
			}
		}
		f.key = weak.Make(chanObject(f.ch))
	}
	s := shardOf(f.ch)
	s.mu.Lock()
	defer s.mu.Unlock()
	t, _ := s.taps[f.key].(*tap[T])
	switch {
	case t == nil:
		if v, err = tryRecv(f.ch); err != ErrPending {
			return v, err
		}
		t = new(tap[T])
		s.add(f.key, t)
	case t.has:
		v = t.take()
		t.waiters.remove(&f.node)
		f.settle(s, t)
		return v, nil
	}
	// While a helper receives, no Recv takes from the channel: the helper's value may be older.
	t.waiters.add(&f.node, w)
	f.settle(s, t)
	return v, ErrPending
}

// Cancel ends the wait. A received value goes to the next waiter, or is kept.
func (f *chanRecv[T]) Cancel() {
	if f.key == (tapKey{}) {
		return
	}
	s := shardOf(f.ch)
	s.mu.Lock()
	t, _ := s.taps[f.key].(*tap[T])
	if t == nil {
		s.mu.Unlock()
		return
	}
	t.waiters.remove(&f.node)
	w := t.next()
	f.settle(s, t)
	s.mu.Unlock()
	w.Wake()
}

// next takes the waker of the first waiter, if there is a value for it.
func (t *tap[T]) next() (w Waker) {
	if first := t.waiters.Front(); t.has && first != nil {
		w = first.Value
		t.waiters.remove(first)
	}
	return w
}

func (t *tap[T]) take() (v T) {
	v, t.value, t.has = t.value, v, false
	if t.kept {
		t.kept = false
		t.cleanup.Stop()
	}
	return v
}

// settle restores the invariants of tap after a change.
func (f *chanRecv[T]) settle(s *tapShard, t *tap[T]) {
	switch {
	case t.stop != nil:
		if t.waiters.Len() == 0 && !t.told {
			t.told = true
			close(t.stop)
		}
	case t.has:
		if t.waiters.Len() == 0 && !t.kept {
			t.kept = true
			t.cleanup = runtime.AddCleanup(chanObject(f.ch), forgetTap, tapAt{s, f.key})
		}
	case t.waiters.Len() > 0:
		t.stop, t.told = make(chan struct{}), false
		helper := &chanRecv[T]{ch: f.ch, key: f.key}
		stop := t.stop
		background.Go(func() { helper.receive(s, t, stop) })
	default:
		s.remove(f.key)
	}
}

// receive runs in the helper: it receives one value unless it is told to stop.
func (f *chanRecv[T]) receive(s *tapShard, t *tap[T], stop <-chan struct{}) {
	var v T
	received, open := false, true
	select {
	case v, open = <-f.ch:
		received = open
	case <-stop:
	}
	s.mu.Lock()
	t.stop = nil
	if !open {
		s.remove(f.key) // the waiters find the channel closed
		all := t.waiters.takeAll()
		s.mu.Unlock()
		for _, w := range all {
			w.Wake()
		}
		return
	}
	if received {
		t.value, t.has = v, true
	}
	w := t.next()
	f.settle(s, t)
	s.mu.Unlock()
	w.Wake()
}

func (s *tapShard) add(key tapKey, t any) {
	if s.taps == nil {
		s.taps = make(map[tapKey]any)
	}
	s.taps[key] = t
	tapCount.Add(1)
}

func (s *tapShard) remove(key tapKey) {
	delete(s.taps, key)
	tapCount.Add(-1)
}

type tapAt struct {
	shard *tapShard
	key   tapKey
}

// forgetTap drops the value of a channel that has become garbage.
func forgetTap(at tapAt) {
	at.shard.mu.Lock()
	defer at.shard.mu.Unlock()
	if at.shard.taps[at.key] != nil {
		at.shard.remove(at.key)
	}
}
