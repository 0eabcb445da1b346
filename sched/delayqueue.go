package sched

import (
	"context"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/timer"
)

// A DelayQueue gives out each value after its delay. Values come in the order of their times, to
// the millisecond, and never early. Values of the same millisecond come in the order of insertion.
// Use it for cache entries that expire, for retries, and for leases, as tokio-util's.
//
// Inserting, moving and removing take constant time. They allocate nothing while the queue is not
// longer than before. A queue takes some 15 KB for its own timing wheel. It uses one timer of its
// runtime, and only while somebody waits. All methods may be called from any goroutine, and
// concurrently.
//
// A value wakes one waiter, the one that has waited longest. That waiter wakes the next one if
// there are more values to take. See arm.
type DelayQueue[T any] struct {
	rt      *Runtime
	futures sync.Pool // of *expiredFuture[T]

	mu      sync.Mutex
	wheel   *timer.Wheel
	nodes   []*delayNode[T]
	free    []uint32 // indices of unused nodes
	waiters waitList
	alarm   Timer         // wakes the first waiter
	armed   bool          // it was started and not stopped
	at      time.Duration // the time that it was started for
	target  Waker         // the waker that it was started with; none: it must be started again
}

// A DelayKey names a value in the queue that returned the key. It becomes void when the value
// leaves the queue, and stays void. The zero value names no value.
type DelayKey struct{ index, generation uint32 }

// Expired is a value whose time has passed.
type Expired[T any] struct {
	Value    T
	Key      DelayKey      // as Insert returned it; it is void now
	Deadline time.Duration // the runtime's time that was passed to InsertAt or follows from Insert
}

// Release releases the value if nobody takes it.
func (e Expired[T]) Release() { releaseValue(e.Value) }

type delayNode[T any] struct {
	entry    timer.Entry
	key      DelayKey
	deadline time.Duration
	value    T
}

// NewDelayQueue returns an empty queue that uses the runtime's time.
func NewDelayQueue[T any](rt *Runtime) *DelayQueue[T] {
	q := &DelayQueue[T]{rt: rt, wheel: timer.New(uint64(int64(rt.Now()) / oneTick))}
	q.futures.New = func() any { return &expiredFuture[T]{queue: q} }
	return q
}

// Insert adds a value that expires when d has passed from now on. The returned key serves to move
// or remove it.
func (q *DelayQueue[T]) Insert(v T, d time.Duration) DelayKey {
	return q.InsertAt(v, saturate.Add(q.rt.Now(), d))
}

// InsertAt adds a value that expires at a point in the runtime's time, or at once if that has
// passed.
func (q *DelayQueue[T]) InsertAt(v T, at time.Duration) DelayKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.node()
	n.value = v
	q.place(n, at)
	return n.key
}

// node returns an unused node.
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

// place makes a node expire at a time. It brings the alarm forward if necessary.
func (q *DelayQueue[T]) place(n *delayNode[T], at time.Duration) {
	n.deadline = at
	q.wheel.Insert(&n.entry, tickOf(at))
	q.arm()
}

// find returns the node that a key names, or nil if the key is void.
func (q *DelayQueue[T]) find(key DelayKey) *delayNode[T] {
	if int(key.index) >= len(q.nodes) {
		return nil
	}
	if n := q.nodes[key.index]; n.key == key && n.entry.Pending() {
		return n
	}
	return nil
}

// empty takes the value out of a node that has left the wheel.
func (q *DelayQueue[T]) empty(n *delayNode[T]) Expired[T] {
	e := Expired[T]{Value: n.value, Key: n.key, Deadline: n.deadline}
	n.value = *new(T)
	n.key.generation++
	q.free = append(q.free, n.key.index)
	return e
}

// Reset makes a value expire when d has passed from now on. false: the key is void.
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

// Remove takes a value out of the queue before somebody has taken it. false: the key is void.
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

// Len is the number of values in the queue. It includes expired ones that nobody has taken.
func (q *DelayQueue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wheel.Len()
}

// Clear drops all values. Its cost grows with the largest number of values that the queue has had.
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

// TryNext takes the first expired value. false: there is none.
func (q *DelayQueue[T]) TryNext() (Expired[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take()
}

// Peek returns the key of the value that expires next, or has already expired. The value stays in
// the queue. Of several values of one millisecond it is the one that was inserted first. false:
// the queue is empty. It looks at each value of one slot of the wheel. Another goroutine may take
// the value meanwhile: then the key is void.
func (q *DelayQueue[T]) Peek() (DelayKey, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.wheel.First()
	if first == nil {
		return DelayKey{}, false
	}
	return first.Value.(*delayNode[T]).key, true
}

// Deadline is the runtime's time at which a value expires, as it was set. false: the key is void.
func (q *DelayQueue[T]) Deadline(key DelayKey) (at time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.find(key)
	if n == nil {
		return 0, false
	}
	return n.deadline, true
}

// take is TryNext with the lock held.
func (q *DelayQueue[T]) take() (e Expired[T], ok bool) {
	entry := q.wheel.Expire(uint64(int64(q.rt.Now()) / oneTick))
	if entry == nil {
		return e, false
	}
	return q.empty(entry.Value.(*delayNode[T])), true
}

// arm sets the alarm so that the first waiter is woken when there is a value for it, or earlier at
// a turn of the wheel. It is called with the lock held after every change of the waiters, of the
// wheel, or of the wheel's time.
//
// So this holds whenever the lock is free. If somebody waits and there is a value, the alarm runs
// for the first waiter; or it has fired for that waiter, which was woken and has not polled yet.
// Any waiter's poll that finds the alarm fired starts it again, so an alarm that does not run is
// never assumed to run. A waiter that gives up is no longer the first one.
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

// tickOf is the first tick that is not before the time.
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

// Next awaits the next expired value (see Await). While the queue is empty it waits for an
// insertion. In a goroutine it returns ErrClosed if the runtime closes.
func (q *DelayQueue[T]) Next(ctx context.Context) (Expired[T], error) {
	f := q.futures.Get().(*expiredFuture[T])
	defer q.futures.Put(f)
	return Block(ctx, q.rt, f)
}

// ExpiredFuture is Next as a future, for one task at a time. It can be polled again for each
// further value. If an abandoned one was woken for a value, the next waiter gets that value.
func (q *DelayQueue[T]) ExpiredFuture() Future[Expired[T]] { return &expiredFuture[T]{queue: q} }

// An expiredFuture waits for values of a DelayQueue.
type expiredFuture[T any] struct {
	queue *DelayQueue[T]
	node  waitNode
}

// Poll takes an expired value if there is one.
func (f *expiredFuture[T]) Poll(cx *Context) (e Expired[T], err error) {
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
		cx.Refund()
	}
	q.waiters.add(&f.node, cx.Waker())
	return e, ErrPending
}

// Cancel ends the wait. If it was woken for a value, the next waiter gets that value.
func (f *expiredFuture[T]) Cancel() {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters.remove(&f.node)
	q.arm()
}
