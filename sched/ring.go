package sched

import (
	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// ringSize is the capacity of a worker's queue, batchSize that of its batch buffer. Both are
// powers of two.
const (
	ringSize  = 256
	batchSize = 64
)

// A ring is a bounded queue that its owner fills and empties. Other workers steal half of it at a
// time. It is Tokio's queue, with the two heads of blitz-io in one 64-bit word. Each head has 32
// bits: with 16 bits they wrap around so soon that a compare-and-swap could mistake an old head
// for a new one (tokio #5041).
//
//	head = steal<<32 | real      steal <= real <= tail, modulo 2³²
//
//	[real, tail)   queued
//	[steal, real)  claimed by the one thief at work, and by the pops since;
//	               none is at work while steal == real
//
// Only the owner writes tail and the slots outside [steal, tail). Only the thief writes the slots
// that it has claimed, until it releases them. head changes by compare-and-swap only.
//
// Each task is delivered once:
//   - A pop takes the task at real, a claim those from real on. Both move real past the tasks that
//     they take, with a compare-and-swap of the word. So no two of them take the same task.
//   - The claimed tasks stay in their slots until the thief has copied them. The owner writes to
//     no slot before steal, and steal does not move until the thief's release. Pops move real
//     meanwhile. So the release is a compare-and-swap in a loop that keeps the current real. It is
//     never given up, because only the release brings steal forward again.
//   - The plain write of a slot happens before the store of tail that publishes it. A taker of the
//     slot has loaded that tail or a later one.
type ring struct {
	_     [2]cpu.CacheLinePad // two lines: the processor fetches them in pairs
	head  atomics.Uint64
	_     [2]cpu.CacheLinePad
	tail  atomics.Uint32
	_     [2]cpu.CacheLinePad
	slots []*Task
	mask  uint32
}

// init gives the ring its capacity, a power of two.
func (r *ring) init(capacity int) {
	r.slots = make([]*Task, capacity)
	r.mask = uint32(capacity - 1)
}

func heads(word uint64) (steal, real uint32) { return uint32(word >> 32), uint32(word) }

func packHeads(steal, real uint32) uint64 { return uint64(steal)<<32 | uint64(real) }

// len is the number of queued tasks. Any goroutine may call it. To others than the owner it may
// report too many, but never 0 for a queue that was not empty at any moment.
func (r *ring) len() int {
	_, real := heads(r.head.Load())
	n := int32(r.tail.Load() - real) // the head first: a later tail can only be larger
	return int(max(0, n))
}

// room is how many tasks can be pushed before the ring is full. For the owner only.
func (r *ring) room() int {
	steal, _ := heads(r.head.Load())
	return len(r.slots) - int(r.tail.Load()-steal)
}

// push queues a task. If the ring is full, the newer half of it and the task go to the global
// queue instead, in one batch. The older half, which has waited longer, stays first in line (tokio
// #8029). push reports whether that happened. For the owner only.
func (r *ring) push(t *Task, global *globalQueue) (overflowed bool) {
	for {
		head := r.head.Load()
		steal, real := heads(head)
		tail := r.tail.Load()
		if int(tail-steal) < len(r.slots) {
			r.slots[tail&r.mask] = t
			r.tail.Store(tail + 1)
			return false
		}
		if steal != real { // a thief is about to make room; the owner cannot wait for it
			global.push(t)
			return true
		}
		if r.overflow(head, tail, t, global) {
			return true
		}
		// A thief was faster: now there is room, or the thief still copies.
	}
}

// overflow moves the newer half of a full ring to the global queue.
//
// The owner claims all tasks, as a thief would, so that nobody else takes any. It removes the
// newer half by moving tail back. It returns the older half by moving real back to its old value.
// A thief may have loaded the same head and an older tail before, and its claim may then still
// succeed. Its claim is half of the tasks at that time, which is the older half or less.
func (r *ring) overflow(head uint64, tail uint32, t *Task, global *globalQueue) bool {
	_, real := heads(head)
	if !r.head.CompareAndSwap(head, packHeads(real, tail)) {
		return false
	}
	from := tail - uint32(len(r.slots)/2)
	var batch taskList
	for i := from; i != tail; i++ {
		batch.push(r.slots[i&r.mask])
		r.slots[i&r.mask] = nil
	}
	batch.push(t)
	r.tail.Store(from)
	r.head.Store(head) // nobody else changes the head of a claimed ring
	global.pushBatch(&batch)
	return true
}

// pushAll queues the first tasks of a list, as many as there is room for, and removes them from
// the list. They become visible to others all at once. For the owner only.
func (r *ring) pushAll(list *taskList) {
	tail := r.tail.Load()
	room := r.room()
	for ; room > 0 && list.head != nil; room-- {
		r.slots[tail&r.mask] = list.pop()
		tail++
	}
	r.tail.Store(tail)
}

// before reports whether the oldest task lies before a place, which is a former value of tail.
func (r *ring) before(place uint32) bool {
	_, real := heads(r.head.Load())
	return int32(real-place) < 0
}

// pop takes the oldest task, or nil if there is none. For the owner only.
func (r *ring) pop() *Task {
	head := r.head.Load()
	for {
		steal, real := heads(head)
		if real == r.tail.Load() {
			return nil
		}
		next := packHeads(steal, real+1)
		if steal == real {
			next = packHeads(real+1, real+1)
		}
		if r.head.CompareAndSwap(head, next) {
			t := r.slots[real&r.mask]
			r.slots[real&r.mask] = nil
			return t
		}
		head = r.head.Load()
	}
}

// stealInto moves the older half of the tasks, rounded up, to dst, which the caller owns. It
// returns the newest of them instead of queueing it, and the number of tasks taken. nil: there is
// no task, another thief is at work, or dst is more than half full. Any goroutine may call it.
func (r *ring) stealInto(dst *ring) (*Task, int) {
	to := dst.tail.Load()
	if steal, _ := heads(dst.head.Load()); int(to-steal) > len(dst.slots)/2 {
		return nil, 0
	}
	from, n := r.claim(uint32(len(dst.slots) / 2))
	if n == 0 {
		return nil, 0
	}
	last := from + n - 1
	for i := range n - 1 {
		dst.slots[(to+i)&dst.mask] = r.slots[(from+i)&r.mask]
		r.slots[(from+i)&r.mask] = nil
	}
	t := r.slots[last&r.mask]
	r.slots[last&r.mask] = nil
	r.release()
	if n > 1 {
		dst.tail.Store(to + n - 1)
	}
	return t, int(n)
}

// claim gives the older half of the tasks to the caller, but no more than most.
func (r *ring) claim(most uint32) (from, n uint32) {
	head := r.head.Load()
	for {
		steal, real := heads(head)
		if steal != real {
			return 0, 0
		}
		queued := r.tail.Load() - real
		n = min(queued-queued/2, most)
		if n == 0 || int32(queued) < 0 { // below 0: the head is an old one
			return 0, 0
		}
		if r.head.CompareAndSwap(head, packHeads(steal, real+n)) {
			return real, n
		}
		head = r.head.Load()
	}
}

// release ends a claim.
func (r *ring) release() {
	for {
		head := r.head.Load()
		_, real := heads(head)
		if r.head.CompareAndSwap(head, packHeads(real, real)) {
			return
		}
	}
}
