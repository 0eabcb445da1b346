package chanx

import (
	"math/bits"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// The tail word of a ring:
//
//	bit  63     noReceivers: nobody will receive any more
//	bit  62     closedBit: no more values, except those of permits
//	bits 40-61  permits that have been given and not been used
//	bits  0-39  the position of the next value
//
// Except for the head, this word contains all data that decide whether a value may go in. The head
// only moves forward. So when a compare-and-swap of the word succeeds, its preconditions still
// hold, or there is more room by then.
//
// Positions count modulo 2^40. To mistake one position for another, a thread would have to pause
// while exactly a multiple of 10^12 values pass through.
const (
	posMask     = 1<<40 - 1
	onePermit   = 1 << 40
	permitMask  = (1<<22 - 1) << 40
	closedBit   = 1 << 62
	noReceivers = 1 << 63

	// maxCapacity allows one permit for each place.
	maxCapacity = 1 << 21
)

// A ring is the bounded queue of Dmitry Vyukov for many producers and consumers (1024cores.net,
// "Bounded MPMC queue"). A slot's stamp says which operation may use the slot next. So producers
// contend only for the tail, and consumers only for the head.
//
//	stamp = p            free for the value of position p
//	stamp = p + 1        has the value of position p
//	stamp = p + size     that has been taken out: free for position p + size
//
// It differs in three ways. The number of slots is a power of two, at least 2, but the capacity is
// any number up to that: room is computed from tail, head and permits. Permits count there and
// claim no position, so a permit that is kept for long delays no value. And a slot that a thread
// is still writing or reading does not make the queue full or empty: only tail and head decide
// that.
type ring[T any] struct {
	tail  atomics.Uint64
	floor atomics.Uint64 // a lower bound of the head: spares producers the head's cache line
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

// An outcome is the result of an attempt at the ring.
type outcome uint8

const (
	done   outcome = iota
	full           // no room
	empty          // no value
	busy           // a value is being put in, but is not there yet
	closed         // no more values go in, or will come out
)

func (r *ring[T]) init(capacity int) {
	size := max(2, 1<<bits.Len(uint(capacity-1)))
	r.slots, r.mask, r.capacity = make([]slot[T], size), uint64(size-1), uint64(capacity)
	for i := range r.slots {
		r.slots[i].stamp.Store(uint64(i))
	}
}

// room reports whether there is room for one more value, as of that tail word. If not, there was
// no room when the tail was loaded, either, since the head was not further then. But if the head
// has passed that tail by now, the result is meaningless. So the caller checks whether the tail
// has changed.
func (r *ring[T]) room(tail uint64) bool {
	permits := tail & permitMask / onePermit
	floor := r.floor.Load()
	if (tail-floor)&posMask+permits < r.capacity {
		return true
	}
	head := r.head.Load()
	if head != floor {
		r.floor.Store(head) // this may replace a later value, which does no harm
	}
	return (tail-head)&posMask+permits < r.capacity
}

func next(tail uint64) uint64 { return tail&^posMask | (tail+1)&posMask }

// push puts in a value, unless the ring is full or closed.
func (r *ring[T]) push(v T) outcome {
	for lost := 0; ; lost++ {
		backOff(lost)
		tail := r.tail.Load()
		switch {
		case tail&closedBit != 0:
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

// reserve takes a permit, unless the ring is full or closed.
func (r *ring[T]) reserve() outcome {
	for {
		tail := r.tail.Load()
		switch {
		case tail&closedBit != 0:
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

// pushReserved puts in a value with a permit, and uses up the permit. closed: nobody receives any
// more.
func (r *ring[T]) pushReserved(v T) outcome {
	for {
		tail := r.tail.Load()
		mustBePermitted(tail)
		if tail&noReceivers != 0 {
			if r.tail.CompareAndSwap(tail, tail-onePermit) {
				return closed
			}
		} else if r.tail.CompareAndSwap(tail, next(tail)-onePermit) {
			r.fill(tail&posMask, v)
			return done
		}
	}
}

// release gives back a permit.
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

// fill puts a value into the slot of a position that the caller has claimed. There is room, so the
// consumer of the slot's last value has claimed that value. It may need some more instructions to
// take it out.
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

// pop takes out the first value.
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

// popMany takes out as many values as are available, up to len(buf), which is not 0.
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

// nothing returns the reason why there is no value at that head. If it returns empty or closed,
// head and tail were equal when the tail was loaded, because the tail is never behind.
func (r *ring[T]) nothing(head uint64) outcome {
	tail := r.tail.Load()
	switch {
	case tail&posMask != head:
		return busy
	case tail&closedBit != 0 && tail&permitMask == 0:
		return closed
	default:
		return empty
	}
}

// due reports whether a receive would not have to wait. If the first value is being put in, it
// reports false: the producer of that value will check for waiting receivers.
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

// close sets flags of the tail word, and reports whether this call has set the last of them.
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

// backOff waits after so many lost races for a cache line. So the winners can do a dozen
// operations in a row, instead of one per transfer of the line. It takes a fraction of a
// microsecond, at most about two. (A sixteenth of that, which is one transfer, took twice as long
// per value with four tasks on either side. Twice that was a tenth faster.)
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

// relax is called between two checks of a word that another thread will change within some
// instructions, unless that thread was preempted.
func relax(spins int) {
	if spins >= spinsBeforePause {
		pause()
	}
}
