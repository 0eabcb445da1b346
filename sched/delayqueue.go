package sched

import (
	"context"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/timer"
)

// A DelayQueue gives out each value that was put into it when its delay has passed:
// in order of their times to the millisecond, never early, and those of the same
// millisecond in order of insertion. Entries of a cache that expire, retries, leases
// are kept in one, as in tokio-util's.
//
// Inserting, moving and removing cost the same however many there are, and nothing is
// allocated for them once there were as many before. A queue is some 15 KB of a timing
// wheel of its own. It uses one timer of its runtime, and that only while somebody
// waits. All methods may be called from any goroutine, and at once.
//
// One of those who wait is woken for a value, the one that has waited longest, and it
// has the next one woken if there is more to take. See arm.
type DelayQueue[T any] struct {
	rt      *Runtime
	futures sync.Pool // of *ExpiredFuture[T]

	mu      sync.Mutex
	wheel   *timer.Wheel
	nodes   []*delayNode[T]
	free    []uint32 // indices of nodes that hold nothing
	waiters waitList
	alarm   Timer         // for the first of waiters
	armed   bool          // it was started and not stopped
	at      time.Duration // the time that it was started for
	target  Waker         // and for whom; none: it is to be started anew
}

// A DelayKey names a value in the queue that gave it out. It stays void when the value
// has left the queue. The zero value names none.
type DelayKey struct{ index, generation uint32 }

// Expired is a value whose time has come.
type Expired[T any] struct {
	Value    T
	Key      DelayKey      // as Insert returned it; it names nothing any more
	Deadline time.Duration // the runtime's time that was asked for
}

type delayNode[T any] struct {
	entry    timer.Entry
	key      DelayKey
	deadline time.Duration
	value    T
}

// NewDelayQueue is an empty queue in the runtime's time.
func NewDelayQueue[T any](rt *Runtime) *DelayQueue[T] {
	q := &DelayQueue[T]{rt: rt, wheel: timer.New(uint64(int64(rt.Now()) / oneTick))}
	q.futures.New = func() any { return q.ExpiredFuture() }
	return q
}

// Insert adds a value that expires when d has passed from now on. The key is for
// moving or removing it.
func (q *DelayQueue[T]) Insert(v T, d time.Duration) DelayKey {
	return q.InsertAt(v, saturate.Add(q.rt.Now(), d))
}

// InsertAt adds a value that expires at a point in the runtime's time; if that has
// passed, at once.
func (q *DelayQueue[T]) InsertAt(v T, at time.Duration) DelayKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.node()
	n.value = v
	q.place(n, at)
	return n.key
}

// node is one that holds nothing.
func (q *DelayQueue[T]) node() *delayNode[T] {
	if last := len(q.free) - 1; last >= 0 {
		n := q.nodes[q.free[last]]
		q.free = q.free[:last]
		return n
	}
	n := &delayNode[T]{key: DelayKey{index: uint32(len(q.nodes)), generation: 1}}
	n.entry.Value = n
	q.nodes = append(q.nodes, n)
	return n
}

// place has a node expire at a time. It brings the alarm forward if need be.
func (q *DelayQueue[T]) place(n *delayNode[T], at time.Duration) {
	n.deadline = at
	q.wheel.Insert(&n.entry, tickOf(at))
	q.arm()
}

// find is the node that a key names, nil if it is void.
func (q *DelayQueue[T]) find(key DelayKey) *delayNode[T] {
	if int(key.index) >= len(q.nodes) {
		return nil
	}
	if n := q.nodes[key.index]; n.key == key && n.entry.Pending() {
		return n
	}
	return nil
}

// empty takes the value out of a node that is in the wheel no more.
func (q *DelayQueue[T]) empty(n *delayNode[T]) Expired[T] {
	e := Expired[T]{Value: n.value, Key: n.key, Deadline: n.deadline}
	n.value = *new(T)
	n.key.generation++
	q.free = append(q.free, n.key.index)
	return e
}

// Reset has a value expire when d has passed from now on instead; false: the key is
// void.
func (q *DelayQueue[T]) Reset(key DelayKey, d time.Duration) bool {
	return q.ResetAt(key, saturate.Add(q.rt.Now(), d))
}

// ResetAt is Reset to a point in the runtime's time.
func (q *DelayQueue[T]) ResetAt(key DelayKey, at time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.find(key)
	if n != nil {
		q.place(n, at)
	}
	return n != nil
}

// Remove takes a value out before its time, or before somebody has taken it; false:
// the key is void.
func (q *DelayQueue[T]) Remove(key DelayKey) (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.find(key)
	if n == nil {
		return v, false
	}
	q.wheel.Remove(&n.entry)
	v = q.empty(n).Value
	q.arm()
	return v, true
}

// Len is the number of values in the queue, those included whose time has come.
func (q *DelayQueue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wheel.Len()
}

// Clear drops all values. It costs as much as there were at most.
func (q *DelayQueue[T]) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.nodes {
		if q.wheel.Remove(&n.entry) {
			q.empty(n)
		}
	}
	q.arm()
}

// TryNext takes the first value whose time has come; false: there is none.
func (q *DelayQueue[T]) TryNext() (Expired[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take()
}

// take is TryNext with the lock held.
func (q *DelayQueue[T]) take() (e Expired[T], ok bool) {
	entry := q.wheel.Expire(uint64(int64(q.rt.Now()) / oneTick))
	if entry == nil {
		return e, false
	}
	return q.empty(entry.Value.(*delayNode[T])), true
}

// arm has the first of those who wait woken when there is a value for it, or at a
// turn of the wheel before. It is called with the lock held after every change of the
// waiters, of the wheel, or of the wheel's time. So whenever the lock is free: if
// somebody waits and there is a value, the alarm runs for the first waiter, or has
// fired for it and the waiter, being woken, has still to poll. The poll of any waiter
// that finds the alarm fired has it started anew, so it is never taken to run when it
// does not; and a waiter that goes away is not the first any more.
func (q *DelayQueue[T]) arm() {
	first := q.waiters.Front()
	tick, ok := q.wheel.Next()
	if first == nil || !ok {
		if q.armed {
			q.armed, q.target = false, Waker{}
			q.rt.StopTimer(&q.alarm)
		}
		return
	}
	at := timeOf(tick)
	if q.target == first.Value && q.at == at {
		return
	}
	q.armed, q.target, q.at = true, first.Value, at
	q.rt.StartTimer(&q.alarm, at, first.Value)
}

// tickOf is the first tick that is not before a time.
func tickOf(at time.Duration) uint64 {
	return (uint64(max(0, at)) + uint64(oneTick) - 1) / uint64(oneTick)
}

// timeOf is the time of a tick.
func timeOf(tick uint64) time.Duration {
	if tick > uint64(never/oneTick) {
		return never
	}
	return time.Duration(tick) * time.Millisecond
}

// Next awaits the next value whose time has come, in a stackful task. If there is no
// value at all it waits for one.
func (q *DelayQueue[T]) Next(cx *Context) (Expired[T], error) {
	f := q.futures.Get().(*ExpiredFuture[T])
	defer q.futures.Put(f)
	return Await(cx, f)
}

// NextContext is Next for a goroutine, which must not be a worker's: ctx's error if
// that ends first, ErrClosed if the runtime closes.
func (q *DelayQueue[T]) NextContext(ctx context.Context) (Expired[T], error) {
	f := q.futures.Get().(*ExpiredFuture[T])
	defer q.futures.Put(f)
	return Block(ctx, q.rt, f)
}

// ExpiredFuture is Next as a future, which can be polled again for one value after the
// other.
func (q *DelayQueue[T]) ExpiredFuture() *ExpiredFuture[T] { return &ExpiredFuture[T]{queue: q} }

// An ExpiredFuture is a place among those who wait for a DelayQueue. It belongs to one
// task at a time and must not be copied.
type ExpiredFuture[T any] struct {
	queue *DelayQueue[T]
	node  waitNode
}

// Poll takes a value if there is one whose time has come.
func (f *ExpiredFuture[T]) Poll(cx *Context) (e Expired[T], err error) {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.arm()
	if q.alarm.Fired() {
		q.target = Waker{}
	}
	if cx.Proceed() {
		if e, ok := q.take(); ok {
			q.waiters.remove(&f.node)
			return e, nil
		}
	}
	q.waiters.add(&f.node, cx.Waker())
	return e, ErrPending
}

// Cancel gives the place back. What it was woken for is the next one's.
func (f *ExpiredFuture[T]) Cancel() {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters.remove(&f.node)
	q.arm()
}
