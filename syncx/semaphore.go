package syncx

import (
	"context"
	"fmt"
	"io/fs"
	"math"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// ErrClosed is the error of an Acquire of a semaphore that is closed. It matches
// fs.ErrClosed, which is also os.ErrClosed.
var ErrClosed = fmt.Errorf("syncx: semaphore closed: %w", fs.ErrClosed)

// MaxPermits is the most permits a semaphore can have.
const MaxPermits = math.MaxInt >> 3

// A Semaphore has a number of permits, which are acquired and released, any number of
// them at a time. Those who wait get them strictly in the order in which they came: one
// that needs many is not overtaken by others that need few. What is released goes to
// the first, which keeps what it has got so far until it has all (the algorithm is that
// of Tokio's batch_semaphore).
//
// The zero value is one without permits. Acquiring and releasing when nobody waits costs
// one compare-and-swap. All methods may be called from any goroutine.
type Semaphore struct {
	// Bit 0 says that the semaphore is closed, bit 1 that somebody waits, the others
	// count the permits that are free.
	//
	// Somebody waits exactly when the list is not empty, and then no permit is free:
	// they are with those who wait. The bit changes only under queue.mu. No wake-up is
	// lost, because whoever comes to wait takes what is free and sets the bit in one
	// compare-and-swap, under the lock. A release that came before it has changed
	// the word, so that it fails and looks again; one that comes after finds the bit,
	// changes nothing, and gives its permits to the list under the lock, which it gets
	// when the newcomer is in it.
	word  atomics.Uint64
	queue queue
}

const (
	semClosed  = 1 << 0
	semWaited  = 1 << 1
	semPermit  = 1 << 2
	semPermits = ^uint64(semClosed | semWaited)
)

// NewSemaphore returns a semaphore with so many permits. It panics unless there are
// from 0 to MaxPermits.
func NewSemaphore(permits int) *Semaphore {
	s := new(Semaphore)
	s.word.Store(count(permits) * semPermit)
	return s
}

// count checks a number of permits.
func count(n int) uint64 {
	if n < 0 || n > MaxPermits {
		panic(fmt.Sprintf("syncx: %d permits: there can be from 0 to %d", n, MaxPermits))
	}
	return uint64(n)
}

// Available is the number of permits that are free. It is 0 while anybody waits.
func (s *Semaphore) Available() int { return int(s.word.Load() / semPermit) }

// TryAcquire acquires n permits if there are so many and nobody waits. None are always
// there, unless the semaphore is closed.
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

// Acquire acquires n permits for the stackful task that calls it. Its error is
// ErrClosed, or sched.ErrCancelled when the task is aborted while it waits; then it
// has acquired none. For more permits than there will ever be it waits for ever.
func (s *Semaphore) Acquire(cx *sched.Context, n int) error {
	if cx.Proceed() {
		if ok, err := s.try(count(n)); ok || err != nil {
			return err
		}
	}
	f := acquires.get()
	f.s, f.n = s, count(n)
	_, err := sched.Await(cx, f)
	acquires.put(f)
	return err
}

// AcquireContext acquires n permits for the goroutine that calls it, which must not be
// a worker's. Its error is ErrClosed, or that of ctx; then it has acquired none.
func (s *Semaphore) AcquireContext(ctx context.Context, n int) error {
	if ok, err := s.try(count(n)); ok || err != nil {
		return err
	}
	f := acquires.get()
	f.s, f.n = s, count(n)
	_, err := sched.Wait(ctx, f)
	acquires.put(f)
	return err
}

// Release gives n permits back, or adds new ones: nobody asks who acquired them. They
// go to those who wait first. It panics when there would be more than MaxPermits free.
// A semaphore that is closed takes them and stays closed.
func (s *Semaphore) Release(n int) { s.release(nil, count(n)) }

// ReleaseFrom is Release from a task, and wakes at less cost.
func (s *Semaphore) ReleaseFrom(cx *sched.Context, n int) { s.release(cx, count(n)) }

// Forget takes up to n permits that are free away for good, and returns how many.
func (s *Semaphore) Forget(n int) int {
	for most := count(n); ; {
		old := s.word.Load()
		some := min(most, old/semPermit)
		if s.word.CompareAndSwap(old, old-some*semPermit) {
			return int(some)
		}
	}
}

// Close has those who wait, and all who will try to acquire, get ErrClosed. Permits
// that are out can still be released, and are free then, but cannot be acquired.
func (s *Semaphore) Close() {
	s.queue.mu.Lock()
	for {
		old := s.word.Load()
		if s.word.CompareAndSwap(old, (old|semClosed)&^semWaited) {
			break
		}
	}
	for { // nobody comes to wait any more
		var b batch
		back := uint64(0)
		for !b.full() && !s.queue.empty() {
			back += s.queue.list.Front().Value.got
			b.add(s.queue.pop(refused))
		}
		s.put(back)
		done := s.queue.empty()
		s.queue.mu.Unlock()
		b.wake(nil)
		if done {
			return
		}
		s.queue.mu.Lock()
	}
}

// Closed reports whether the semaphore is closed.
func (s *Semaphore) Closed() bool { return s.word.Load()&semClosed != 0 }
