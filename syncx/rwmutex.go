package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// An RWMutex is a lock that any number of readers, or one writer, may hold at a time. The zero
// value is unlocked. A task or goroutine may unlock it that has not locked it.
//
// The lock is handed over strictly in the order of the calls: a reader overtakes neither a waiting
// writer nor another reader, so neither kind starves. So a task that holds a read lock must not
// take another one. A writer that waits in between would wait for the first lock, and the second
// one for the writer.
//
// Each hand-over costs a switch of tasks. If the next waiter is a stackful task of another worker,
// which may have to be woken, it costs some microseconds. For a lock that many tasks take all the
// time for moments, use a Mutex: it is not handed over each time.
//
// Locking and unlocking without waiters cost one compare-and-swap each. All methods may be called
// from any goroutine.
type RWMutex struct {
	word  atomics.Uint64 // see rwmutex_queue.go
	queue queue
}

// TryLock locks for writing if that is possible now, and reports whether it did.
func (rw *RWMutex) TryLock() bool { return rw.word.CompareAndSwap(0, rwWriter) }

// TryRLock locks for reading if that is possible now and nobody waits. It reports whether it did.
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

// Lock locks for writing. It waits as sched.Await does. With an error the RWMutex is not locked.
func (rw *RWMutex) Lock(ctx context.Context) error {
	if ctx != nil && sched.FromContext(ctx).Proceed() && rw.TryLock() {
		return nil
	}
	return rw.await(ctx, rwWrite)
}

// RLock is Lock for reading.
func (rw *RWMutex) RLock(ctx context.Context) error {
	if ctx != nil && sched.FromContext(ctx).Proceed() && rw.TryRLock() {
		return nil
	}
	return rw.await(ctx, rwRead)
}

func (rw *RWMutex) await(ctx context.Context, kind uint64) error {
	f := rwLocks.get()
	f.rw, f.kind = rw, kind
	_, err := sched.Await(ctx, f)
	rwLocks.put(f)
	return err
}

// Unlock unlocks for writing. It panics if there is no write lock.
func (rw *RWMutex) Unlock() { rw.unlock() }

// Downgrade turns the write lock into a read lock, atomically: no other writer gets the lock in
// between. RUnlock releases it. Waiting readers get the lock, too, unless a writer waits before
// them. Downgrade never waits. It panics if there is no write lock.
func (rw *RWMutex) Downgrade() { rw.downgrade() }

// RUnlock releases one read lock. It panics if there is none.
func (rw *RWMutex) RUnlock() { rw.runlock() }

// An rwLockFuture locks an RWMutex, for reading or for writing.
type rwLockFuture struct {
	rw    *RWMutex
	kind  uint64
	place place
}

var (
	_ sched.Future[struct{}] = (*rwLockFuture)(nil)
	_ sched.Canceler         = (*rwLockFuture)(nil)
	_ sched.Undoer           = (*rwLockFuture)(nil)

	rwLocks pool[rwLockFuture]
)

// LockFuture returns a future that locks for writing. It enters the queue at its first poll, and
// never fails.
func (rw *RWMutex) LockFuture() sched.Future[struct{}] { return &rwLockFuture{rw: rw, kind: rwWrite} }

// RLockFuture is LockFuture for reading.
func (rw *RWMutex) RLockFuture() sched.Future[struct{}] { return &rwLockFuture{rw: rw, kind: rwRead} }

// Poll implements sched.Future.
func (f *rwLockFuture) Poll(cx *sched.Context) (struct{}, error) {
	w := cx.Waker()
	if waits(&f.place, w) || f.ready() && !cx.Proceed() || !f.rw.poll(&f.place, f.kind, w) {
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// ready reports whether a poll is likely to be the last: see acquireFuture.
func (f *rwLockFuture) ready() bool {
	switch f.place.Value.state.Load() {
	case idle:
		return rwFree(f.rw.word.Load(), f.kind)
	case granted:
		return true
	default:
		return false
	}
}

// Cancel ends the wait, and releases the lock if it has got the lock.
func (f *rwLockFuture) Cancel() { f.rw.leave(&f.place, f.kind) }

// Undo releases the lock: see sched.Undoer.
func (f *rwLockFuture) Undo() {
	if f.kind == rwWrite {
		f.rw.Unlock()
	} else {
		f.rw.RUnlock()
	}
}
