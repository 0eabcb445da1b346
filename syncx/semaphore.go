package syncx

import (
	"context"
	"fmt"
	"io/fs"
	"math"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// ErrClosed is the error of an Acquire of a closed semaphore. It matches fs.ErrClosed, which is
// also os.ErrClosed.
var ErrClosed = fmt.Errorf("syncx: semaphore closed: %w", fs.ErrClosed)

// maxPermits is the largest number of permits of a semaphore.
const maxPermits = math.MaxInt >> 3

// A Semaphore has permits, which are acquired and released, any number of them at a time. Waiters
// get them strictly in the order of their arrival: one that needs many permits is not overtaken by
// others that need few. Released permits go to the first waiter, which keeps them until it has all
// (the algorithm of Tokio's batch_semaphore).
//
// The zero value has no permits. Acquiring and releasing without waiters cost one
// compare-and-swap. All methods may be called from any goroutine.
type Semaphore struct {
	// Bit 0 says that the semaphore is closed, bit 1 that a task waits. The other bits count the
	// free permits.
	//
	// Bit 1 is set exactly when the list is not empty. Then no permit is free, because the waiters
	// have them. The bit changes only under queue.mu. No wake-up is lost, because a newcomer takes
	// the free permits and sets the bit in one compare-and-swap, under the lock. An earlier
	// release has changed the word, so the swap fails and the newcomer checks again. A later
	// release finds the bit, changes nothing, and gives its permits to the list under the lock. It
	// gets the lock after the newcomer has entered the list.
	word  atomics.Uint64
	queue queue
}

const (
	semClosed  = 1 << 0
	semWaited  = 1 << 1
	semPermit  = 1 << 2
	semPermits = ^uint64(semClosed | semWaited)
)

// NewSemaphore returns a semaphore with that many permits. It panics unless permits is from 0 to
// math.MaxInt / 8.
func NewSemaphore(permits int) *Semaphore {
	s := new(Semaphore)
	s.word.Store(count(permits) * semPermit)
	return s
}

// count checks and converts a number of permits.
func count(n int) uint64 {
	if n < 0 || n > maxPermits {
		panic(fmt.Sprintf("syncx: %d permits: there can be from 0 to %d", n, maxPermits))
	}
	return uint64(n)
}

// Available is the number of free permits. It is 0 while a task waits.
func (s *Semaphore) Available() int { return int(s.word.Load() / semPermit) }

// TryAcquire acquires n permits if that many are free and nobody waits. For n of 0 it succeeds
// unless the semaphore is closed.
func (s *Semaphore) TryAcquire(n int) bool {
	ok, _ := s.try(count(n))
	return ok
}

func (s *Semaphore) try(n uint64) (ok bool, err error) {
	for {
		old := s.word.Load()
		switch {
		case old&semClosed != 0:
			return false, ErrClosed
		case old/semPermit < n:
			return false, nil
		case n == 0 || s.word.CompareAndSwap(old, old-n*semPermit):
			return true, nil
		}
	}
}

// Acquire acquires n permits. It waits as sched.Await does. Its error is ErrClosed, or that of
// sched.Await; then it has acquired none. If n is more than there will ever be, it waits forever.
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	if ctx != nil && sched.FromContext(ctx).Proceed() {
		if ok, err := s.try(count(n)); ok || err != nil {
			return err
		}
	}
	f := acquires.get()
	f.s, f.n = s, count(n)
	_, err := sched.Await(ctx, f)
	acquires.put(f)
	return err
}

// Release releases n permits, or adds new ones: it does not check who acquired them. They go to
// waiters first. It panics if more than math.MaxInt / 8 would be free. A closed semaphore accepts
// them and stays closed.
func (s *Semaphore) Release(n int) { s.release(count(n)) }

// Close makes all waiting and future acquires fail with ErrClosed. Acquired permits can still be
// released, and are free then, but cannot be acquired.
func (s *Semaphore) Close() {
	s.queue.mu.Lock()
	for {
		old := s.word.Load()
		if s.word.CompareAndSwap(old, (old|semClosed)&^semWaited) {
			break
		}
	}
	for { // no further waiters arrive
		var b batch
		back := uint64(0)
		for !b.full() && !s.queue.empty() {
			back += s.queue.list.Front().Value.got
			b.add(s.queue.pop(refused))
		}
		s.put(back)
		done := s.queue.empty()
		s.queue.mu.Unlock()
		b.wake()
		if done {
			return
		}
		s.queue.mu.Lock()
	}
}
