package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// An RWMutex is a lock that any number of readers hold at a time, or one writer. The zero
// value is not locked. Whoever locks it need not be who unlocks it.
//
// It is handed over strictly in the order in which it was asked for: a reader does not
// overtake a writer that waits, nor anybody else, so neither kind starves. It follows
// that a task must not read-lock again what it holds for reading: a writer that waits in
// between would wait for the first lock, and the second for the writer.
//
// Handing over costs a switch of tasks each time, and where the next one is a stackful task
// of another worker, which may have to be woken, some microseconds: for what is locked all
// the time, for moments, by many, use a Mutex, which is not handed over each time.
//
// Locking and unlocking when nobody waits cost one compare-and-swap each. All methods may
// be called from any goroutine.
type RWMutex struct {
	word  atomics.Uint64 // see rwmutex_queue.go
	queue queue
}

// TryLock locks it for writing if that is possible now, and reports whether it was.
func (rw *RWMutex) TryLock() bool { return rw.word.CompareAndSwap(0, rwWriter) }

// TryRLock locks it for reading if that is possible now, and nobody waits, and reports
// whether it was.
func (rw *RWMutex) TryRLock() bool {
	for {
		old := rw.word.Load()
		if old&(rwWriter|rwWaited) != 0 {
			return false
		}
		if rw.word.CompareAndSwap(old, old+rwReader) {
			return true
		}
	}
}

// Lock locks it for writing for the stackful task that calls it. Its error is
// sched.ErrCancelled when the task is aborted while it waits; then it is not locked.
func (rw *RWMutex) Lock(cx *sched.Context) error {
	if cx.Proceed() && rw.TryLock() {
		return nil
	}
	return rw.await(cx, rwWrite)
}

// RLock is Lock for reading.
func (rw *RWMutex) RLock(cx *sched.Context) error {
	if cx.Proceed() && rw.TryRLock() {
		return nil
	}
	return rw.await(cx, rwRead)
}

func (rw *RWMutex) await(cx *sched.Context, kind uint64) error {
	f := rwLocks.get()
	f.rw, f.kind = rw, kind
	_, err := sched.Await(cx, f)
	rwLocks.put(f)
	return err
}

// LockContext locks it for writing for the goroutine that calls it, which must not be a
// worker's. Its error is that of ctx; then it is not locked.
func (rw *RWMutex) LockContext(ctx context.Context) error {
	if rw.TryLock() {
		return nil
	}
	return rw.wait(ctx, rwWrite)
}

// RLockContext is LockContext for reading.
func (rw *RWMutex) RLockContext(ctx context.Context) error {
	if rw.TryRLock() {
		return nil
	}
	return rw.wait(ctx, rwRead)
}

func (rw *RWMutex) wait(ctx context.Context, kind uint64) error {
	f := rwLocks.get()
	f.rw, f.kind = rw, kind
	_, err := sched.Wait(ctx, f)
	rwLocks.put(f)
	return err
}

// Unlock unlocks it for writing. It panics if it is not locked so.
func (rw *RWMutex) Unlock() { rw.unlock(nil) }

// UnlockFrom is Unlock from a task, and wakes at less cost.
func (rw *RWMutex) UnlockFrom(cx *sched.Context) { rw.unlock(cx) }

// RUnlock takes back one lock for reading. It panics if there is none.
func (rw *RWMutex) RUnlock() { rw.runlock(nil) }

// RUnlockFrom is RUnlock from a task, and wakes at less cost.
func (rw *RWMutex) RUnlockFrom(cx *sched.Context) { rw.runlock(cx) }

// An RWLockFuture locks an RWMutex, for reading or for writing. It is done when that is
// locked, fails never, and may be polled again to lock it once more.
type RWLockFuture struct {
	rw    *RWMutex
	kind  uint64
	place place
}

var (
	_ sched.Future[struct{}] = (*RWLockFuture)(nil)
	_ sched.Canceler         = (*RWLockFuture)(nil)

	rwLocks pool[RWLockFuture]
)

// LockFuture is a future that locks it for writing. Its place in the queue is from its
// first poll.
func (rw *RWMutex) LockFuture() *RWLockFuture { return &RWLockFuture{rw: rw, kind: rwWrite} }

// RLockFuture is LockFuture for reading.
func (rw *RWMutex) RLockFuture() *RWLockFuture { return &RWLockFuture{rw: rw, kind: rwRead} }

// Poll makes it a future.
func (f *RWLockFuture) Poll(cx *sched.Context) (struct{}, error) {
	w := cx.Waker()
	if waits(&f.place, w) || f.ready() && !cx.Proceed() || !f.rw.poll(&f.place, f.kind, w) {
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// ready reports whether a poll is likely to be the last: see AcquireFuture.
func (f *RWLockFuture) ready() bool {
	switch f.place.Value.state.Load() {
	case idle:
		return rwFree(f.rw.word.Load(), f.kind)
	case granted:
		return true
	default:
		return false
	}
}

// Cancel gives the place back, and the lock if it has that.
func (f *RWLockFuture) Cancel() { f.rw.leave(&f.place, f.kind) }
