package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// A Mutex is a lock that tasks and goroutines can hold across whatever they wait for.
// The zero value is not locked. Whoever locks it need not be who unlocks it.
//
// Those who wait get it in the order in which they came. When it is unlocked, the first
// of them is woken, and until that one runs, tasks that are running may take the lock
// and give it back, at most 1024 times in all; then, or when the first has come and
// found it taken, it is handed over, and nobody else can have it in between. (Handing
// over each time costs a switch of tasks for each time the lock is taken, as soon as
// somebody waits and for as long as there is always somebody who does: a lock convoy.
// sync.Mutex has the same rule with a millisecond for a bound. Who needs the exact order
// of all calls uses a Semaphore with one permit.)
//
// Locking and unlocking when nobody waits cost one compare-and-swap each. All methods may
// be called from any goroutine.
type Mutex struct {
	word  atomics.Uint32 // see mutex_queue.go
	queue queue
}

// TryLock locks the mutex if that is possible now, and reports whether it was.
func (m *Mutex) TryLock() bool { return m.word.CompareAndSwap(0, mutexLocked) || m.barge() }

// Lock locks the mutex for the stackful task that calls it. Its error is
// sched.ErrCancelled when the task is aborted while it waits; then the mutex is not
// locked.
func (m *Mutex) Lock(cx *sched.Context) error {
	if cx.Proceed() && m.TryLock() {
		return nil
	}
	f := locks.get()
	f.m = m
	_, err := sched.Await(cx, f)
	locks.put(f)
	return err
}

// LockContext locks the mutex for the goroutine that calls it, which must not be a
// worker's. Its error is that of ctx; then the mutex is not locked.
func (m *Mutex) LockContext(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	f := locks.get()
	f.m = m
	_, err := sched.Wait(ctx, f)
	locks.put(f)
	return err
}

// Unlock unlocks the mutex. It panics if that is not locked.
func (m *Mutex) Unlock() { m.UnlockFrom(nil) }

// UnlockFrom is Unlock from a task, and wakes at less cost.
func (m *Mutex) UnlockFrom(cx *sched.Context) {
	if !m.word.CompareAndSwap(mutexLocked, 0) { // no load before it: that costs more than it spares
		m.unlock(cx)
	}
}
