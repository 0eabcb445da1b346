package chanx

import (
	"math/bits"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// The tail word of a ring:
//
//	bit  63     deaf: nobody will receive any more
//	bit  62     shut: no more values, but those of permits
//	bits 40-61  permits that have been given and not been used
//	bits  0-39  the position of the next value
//
// All that decides whether a value may go in is in this word, but the head, and the
// head only moves on: so what a compare-and-swap of the word was based on still holds
// when it succeeds, or there is more room by then.
//
// Positions count modulo 2^40. One that is mistaken for another needs a thread to
// stand still while exactly a multiple of 10^12 values go through.
const (
	posMask    = 1<<40 - 1
	onePermit  = 1 << 40
	permitMask = (1<<22 - 1) << 40
	shut       = 1 << 62
	deaf       = 1 << 63

	// maxCapacity leaves room for one permit for each place.
	maxCapacity = 1 << 21
)

// A ring is the bounded queue of Dmitry Vyukov for many producers and consumers
// (1024cores.net, "Bounded MPMC queue"): a slot's stamp says whose turn it is, so that
// producers contend for the tail alone, and consumers for the head.
//
//	stamp = p            free for the value of position p
//	stamp = p + 1        has the value of position p
//	stamp = p + size     that has been taken out: free for position p + size
//
// Three things are otherwise. The size is a power of two, at least 2, but the capacity
// is any number up to it: room is counted, from tail, head and permits. Permits take
// part in that count and claim no position, so one that is kept for long holds up
// nobody's value. And a slot that somebody is still at work on is not taken for a full
// or an empty queue: full and empty are said by tail and head.
type ring[T any] struct {
	tail  atomics.Uint64
	floor atomics.Uint64 // the head is not before this: spares producers the head's cache line
	_     [2]cpu.CacheLinePad
	head  atomics.Uint64
	_     [2]cpu.CacheLinePad

	slots    []slot[T]
	mask     uint64
	capacity uint64
}

type slot[T any] struct {
	stamp atomics.Uint64
	value T
}

// What a try at the ring comes to.
type outcome uint8

const (
	done   outcome = iota
	full           // no room
	empty          // nothing is there
	busy           // a value is being put in, but not there yet
	closed         // no more values go in, or will come out
)

func (r *ring[T]) init(capacity int) {
	size := max(2, 1<<bits.Len(uint(capacity-1)))
	r.slots, r.mask, r.capacity = make([]slot[T], size), uint64(size-1), uint64(capacity)
	for i := range r.slots {
		r.slots[i].stamp.Store(uint64(i))
	}
}

// room reports whether there is a place for one more, as of that tail word. If not,
// there was none when the tail was loaded either, since the head was no later then; but
// a tail that is behind the head by now gives nonsense, so look whether it has changed.
func (r *ring[T]) room(tail uint64) bool {
	permits := tail & permitMask / onePermit
	floor := r.floor.Load()
	if (tail-floor)&posMask+permits < r.capacity {
		return true
	}
	return r.roomFor(tail) != 0
}

// roomFor is room, for how many more: it looks at the head itself, which for many at once
// costs little and gives more than the floor.
func (r *ring[T]) roomFor(tail uint64) uint64 {
	floor := r.floor.Load()
	head := r.head.Load()
	if head != floor {
		r.floor.Store(head) // perhaps a later one was there: that does no harm
	}
	used := (tail-head)&posMask + tail&permitMask/onePermit
	if used >= r.capacity {
		return 0
	}
	return r.capacity - used
}

func next(tail uint64) uint64 { return advance(tail, 1) }

func advance(tail, n uint64) uint64 { return tail&^posMask | (tail+n)&posMask }

// push puts a value in, unless the ring is full or closed.
func (r *ring[T]) push(v T) outcome {
	for lost := 0; ; lost++ {
		backOff(lost)
		tail := r.tail.Load()
		switch {
		case tail&shut != 0:
			return closed
		case !r.room(tail):
			if r.tail.Load() == tail {
				return full
			}
		case r.tail.CompareAndSwap(tail, next(tail)):
			pos := tail & posMask
			s := &r.slots[pos&r.mask] // as in fill
			if s.stamp.Load() != pos {
				s.mustBecome(pos)
			}
			s.value = v
			s.stamp.Store((pos + 1) & posMask)
			return done
		}
	}
}

// pushMany puts as many values in as there is room for, at least one unless the ring is
// full or closed. They get positions in a row, with one compare-and-swap. vs is not
// empty.
func (r *ring[T]) pushMany(vs []T) (int, outcome) {
	for lost := 0; ; lost++ {
		backOff(lost)
		tail := r.tail.Load()
		if tail&shut != 0 {
			return 0, closed
		}
		n := min(r.roomFor(tail), uint64(len(vs)))
		switch {
		case n == 0:
			if r.tail.Load() == tail {
				return 0, full
			}
		case r.tail.CompareAndSwap(tail, advance(tail, n)):
			for i, v := range vs[:n] {
				r.fill((tail+uint64(i))&posMask, v)
			}
			return int(n), done
		}
	}
}

// reserve takes a permit, unless the ring is full or closed.
func (r *ring[T]) reserve() outcome {
	for {
		tail := r.tail.Load()
		switch {
		case tail&shut != 0:
			return closed
		case !r.room(tail):
			if r.tail.Load() == tail {
				return full
			}
		case r.tail.CompareAndSwap(tail, tail+onePermit):
			return done
		}
	}
}

// pushReserved puts a value in with a permit, which is used up: closed if nobody
// receives any more.
func (r *ring[T]) pushReserved(v T) outcome {
	for {
		tail := r.tail.Load()
		mustBePermitted(tail)
		if tail&deaf != 0 {
			if r.tail.CompareAndSwap(tail, tail-onePermit) {
				return closed
			}
		} else if r.tail.CompareAndSwap(tail, next(tail)-onePermit) {
			r.fill(tail&posMask, v)
			return done
		}
	}
}

// release gives a permit back.
func (r *ring[T]) release() {
	for {
		tail := r.tail.Load()
		mustBePermitted(tail)
		if r.tail.CompareAndSwap(tail, tail-onePermit) {
			return
		}
	}
}

func mustBePermitted(tail uint64) {
	if tail&permitMask == 0 {
		panic("chanx: a permit was used twice")
	}
}

// fill puts a value into the slot of a position that the caller has claimed. There is
// room, so the consumer of the slot's last value has claimed that: it may have some
// instructions to go.
func (r *ring[T]) fill(pos uint64, v T) {
	s := &r.slots[pos&r.mask]
	if s.stamp.Load() != pos {
		s.mustBecome(pos)
	}
	s.value = v
	s.stamp.Store((pos + 1) & posMask)
}

func (s *slot[T]) mustBecome(stamp uint64) {
	for spins := 0; s.stamp.Load() != stamp; spins++ {
		relax(spins)
	}
}

// pop takes the first value out.
func (r *ring[T]) pop() (v T, _ outcome) {
	for lost := 0; ; lost++ {
		backOff(lost)
		head := r.head.Load()
		s := &r.slots[head&r.mask]
		switch s.stamp.Load() {
		case (head + 1) & posMask:
			if r.head.CompareAndSwap(head, (head+1)&posMask) {
				v = s.value
				s.value = *new(T)
				s.stamp.Store((head + r.mask + 1) & posMask)
				return v, done
			}
		case head:
			return v, r.nothing(head)
		default:
			if r.head.Load() == head { // the slot's last value is being put in or taken out
				return v, r.nothing(head)
			}
		}
	}
}

// popMany takes as many values out as are there, up to len(buf), which is not 0.
func (r *ring[T]) popMany(buf []T) (int, outcome) {
	for lost := 0; ; lost++ {
		backOff(lost)
		head := r.head.Load()
		n := uint64(0)
		for limit := min(uint64(len(buf)), r.mask+1); n < limit; n++ {
			if r.slots[(head+n)&r.mask].stamp.Load() != (head+n+1)&posMask {
				break
			}
		}
		if n == 0 {
			if r.head.Load() == head {
				return 0, r.nothing(head)
			}
			continue
		}
		if !r.head.CompareAndSwap(head, (head+n)&posMask) {
			continue
		}
		for i := range n {
			s := &r.slots[(head+i)&r.mask]
			buf[i] = s.value
			s.value = *new(T)
			s.stamp.Store((head + i + r.mask + 1) & posMask)
		}
		return int(n), done
	}
}

// nothing says why there is nothing at that head. If it says empty, or closed, both
// heads were the same when the tail was loaded: the tail is never behind.
func (r *ring[T]) nothing(head uint64) outcome {
	tail := r.tail.Load()
	switch {
	case tail&posMask != head:
		return busy
	case tail&shut != 0 && tail&permitMask == 0:
		return closed
	default:
		return empty
	}
}

// due reports whether a receive would not have to wait. If the first value is being put
// in it says no: whoever does that will see to those that wait.
func (r *ring[T]) due() bool {
	for {
		head := r.head.Load()
		if r.slots[head&r.mask].stamp.Load() == (head+1)&posMask {
			return true
		}
		is := r.nothing(head)
		if r.head.Load() == head {
			return is == closed
		}
	}
}

// close sets flags of the tail word, and reports whether this call has set the last of
// them.
func (r *ring[T]) close(flags uint64) bool {
	for {
		tail := r.tail.Load()
		if tail&flags == flags {
			return false
		}
		if r.tail.CompareAndSwap(tail, tail|flags) {
			return true
		}
	}
}

func (r *ring[T]) len() int {
	for {
		tail := r.tail.Load()
		n := (tail - r.head.Load()) & posMask
		if r.tail.Load() == tail {
			return int(n)
		}
	}
}

// backOff leaves the cache line to those who have won the race for it, so many times by
// now: they can then do a dozen operations in a row, and not one per transfer. It takes a
// fraction of a microsecond, at most about two. (A sixteenth of that, which is one
// transfer, took twice as long per value with four tasks on either side; twice that
// gained a tenth more.)
func backOff(lost int) {
	if lost > 0 {
		spin(min(lost, 4) * 1024)
	}
}

//go:noinline
func spin(n int) {
	for range n {
	}
}

// relax is called between looks at what another thread is about to do within some
// instructions, unless it was interrupted.
func relax(spins int) {
	if spins >= spinsBeforePause {
		pause()
	}
}
