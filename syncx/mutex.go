package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/sched"
)

// A Mutex is a lock that tasks and goroutines can hold while they wait for something else. The
// zero value is unlocked. A task or goroutine may unlock it that has not locked it.
//
// Waiters get the lock in the order of their arrival. An unlock wakes the first waiter. Until that
// one runs, running tasks may take and release the lock, at most 1024 times in all. After that, or
// if the first waiter runs and finds the lock taken, the lock is handed over: the next unlock
// gives it to the first waiter, and no other task gets it in between.
//
// (Always handing over would cost a switch of tasks for each locking while there is always a
// waiter: a lock convoy. sync.Mutex has the same rule, with a bound of a millisecond. For the
// exact order of all calls use a Semaphore with one permit.)
//
// Locking and unlocking without waiters cost one compare-and-swap each. All methods may be called
// from any goroutine.
type Mutex struct {
	word  atomics.Uint32 // see mutex_queue.go
	queue queue
}

// TryLock locks the mutex if that is possible now, and reports whether it did.
func (m *Mutex) TryLock() bool { return m.word.CompareAndSwap(0, mutexLocked) || m.barge() }

// Lock locks the mutex. It waits as sched.Await does. With an error the mutex is not locked.
func (m *Mutex) Lock(ctx context.Context) error {
	if ctx != nil && sched.FromContext(ctx).Proceed() && m.TryLock() {
		return nil
	}
	f := locks.get()
	f.m = m
	_, err := sched.Await(ctx, f)
	locks.put(f)
	return err
}

// Unlock unlocks the mutex. It panics if the mutex is not locked.
func (m *Mutex) Unlock() {
	if !m.word.CompareAndSwap(mutexLocked, 0) { // without a load before it, which would cost more than it saves
		m.unlock()
	}
}
