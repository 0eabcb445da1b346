package chanx

import (
	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A segments is the unbounded queue of Tokio (tokio/src/sync/mpsc/list.rs and block.rs) for many
// producers and one consumer. It is a list of blocks of slots. A producer claims a position with
// one addition to tail, finds the block of that position, stores its value there, and marks the
// slot as ready.
//
// Blocks are reused. This needs care, because a producer may still hold a block that it has only
// passed. A producer claims its position before it loads last. So every producer that may hold a
// block behind last has claimed a position below observed, the value of tail just after last left
// the block. When the consumer has taken all values below observed, these producers have marked
// their slots as ready, and after that they access no block. Then only the consumer knows the
// block.
type segments[T any] struct {
	tail atomics.Uint64              // positions claimed, and ended
	last atomics.Pointer[segment[T]] // where producers begin to search
	end  atomics.Uint64              // 1 + the position of the queue's end; 0: it has no end yet
	_    [2]cpu.CacheLinePad

	// Only the consumer uses these:
	at    uint64      // the next position
	first *segment[T] // the block of that position
	old   *segment[T] // the first block that may not be reused yet

	spare [4]atomics.Pointer[segment[T]] // blocks for reuse
}

const (
	allReady = 1<<segmentSize - 1
	released = 1 << segmentSize // last has left the block, and observed is set

	ended = 1 << 63 // in tail: positions claimed from now on are not in the queue
)

type segment[T any] struct {
	start    uint64 // its first position; fixed while others know it
	next     atomics.Pointer[segment[T]]
	ready    atomics.Uint64 // a bit for each slot, and released
	observed uint64         // guarded by released
	slots    [segmentSize]T
}

func (q *segments[T]) init() {
	q.first = new(segment[T])
	q.old = q.first
	q.last.Store(q.first)
}

// push adds a value. false: the queue has ended. Any goroutine may call it.
func (q *segments[T]) push(v T) bool {
	if q.tail.Load()&ended != 0 { // checked first, so that tail does not run away
		return false
	}
	pos := q.tail.Add(1) - 1
	if pos&ended != 0 {
		return false
	}
	s := q.find(pos)
	i := pos % segmentSize
	s.slots[i] = v
	s.ready.Add(1 << i)
	return true
}

// find returns the block of a position that the caller has claimed and not yet marked as ready.
func (q *segments[T]) find(pos uint64) *segment[T] {
	start := pos - pos%segmentSize
	s := q.last.Load() // not beyond the position: last leaves a block only when all of its slots are ready
	for advance := true; s.start != start; {
		next := s.next.Load()
		if next == nil {
			next = q.grow(s)
		}
		if advance = advance && s.ready.Load() == allReady && q.last.CompareAndSwap(s, next); advance {
			s.observed = q.tail.Load() &^ ended
			s.ready.Add(released)
		}
		s = next
	}
	return s
}

// grow adds a block behind s, unless another producer has, and returns the block behind s.
func (q *segments[T]) grow(s *segment[T]) *segment[T] {
	var fresh *segment[T]
	for i := range q.spare {
		if q.spare[i].Load() != nil {
			if fresh = q.spare[i].Swap(nil); fresh != nil {
				break
			}
		}
	}
	if fresh == nil {
		fresh = new(segment[T])
	}
	fresh.start = s.start + segmentSize
	if s.next.CompareAndSwap(nil, fresh) {
		return fresh
	}
	q.keep(fresh)
	return s.next.Load()
}

// keep stores an unused block for reuse, or drops it.
func (q *segments[T]) keep(s *segment[T]) {
	for i := range q.spare {
		if q.spare[i].CompareAndSwap(nil, s) {
			return
		}
	}
}

// pop takes out the first value. Only the consumer calls it.
func (q *segments[T]) pop() (v T, _ outcome) {
	s := q.first
	if q.at-s.start == segmentSize {
		next := s.next.Load()
		if next == nil {
			return v, q.nothing()
		}
		q.first, s = next, next
		q.reclaim()
	}
	i := q.at % segmentSize
	if s.ready.Load()&(1<<i) == 0 {
		return v, q.nothing()
	}
	v = s.slots[i]
	s.slots[i] = *new(T)
	q.at++
	return v, done
}

// nothing returns the reason why there is no value.
func (q *segments[T]) nothing() outcome {
	tail := q.tail.Load()
	switch {
	case tail&ended != 0:
		if end := q.end.Load(); end == 0 || end-1 != q.at {
			return busy // end is about to be set, or values to become ready: both wake the consumer
		}
		return closed
	case tail != q.at:
		return busy
	default:
		return empty
	}
}

// reclaim stores consumed blocks for reuse that no producer holds.
func (q *segments[T]) reclaim() {
	for q.old != q.first {
		s := q.old
		if s.ready.Load()&released == 0 || s.observed > q.at {
			return
		}
		q.old = s.next.Load()
		s.next.Store(nil)
		s.ready.Store(0)
		q.keep(s)
	}
}

// close ends the queue behind the claimed positions. Any goroutine may call it, once.
func (q *segments[T]) close() {
	q.end.Store(1 + q.tail.Or(ended))
}
