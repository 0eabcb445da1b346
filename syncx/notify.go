package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A Notify tells tasks that something has happened, and not what: they look for that
// themselves. It is a semaphore that has one permit at most, to begin with none (as that
// of Tokio). The zero value is ready for use. All methods may be called from any goroutine.
//
// Of those who wait the one that came first is told first.
type Notify struct {
	// Bits 0 and 1 are the state, the others count the calls of NotifyWaiters. The state
	// is notifyWaited exactly when the list is not empty; from and to that it changes only
	// under queue.mu, and so does the count.
	//
	// No notification is lost: who comes to wait changes notifyNothing to notifyWaited under
	// the lock, in a compare-and-swap. A NotifyOne that came before has stored its
	// permit, so that it fails; one that comes after goes to the list, under the lock.
	word  atomics.Uint64
	queue queue

	// Those whom NotifyWaiters has told, and who have not been woken yet. They need no
	// other notification: NotifyOne is for those in the queue, or for the next to come.
	// Their count is smaller than the one of now. Under queue.mu.
	due list.List[waiter]
}

const (
	notifyNothing = 0
	notifyWaited  = 1
	notifyStored  = 2
	notifyState   = 3
	notifyCall    = 4
)

// NotifyOne tells the first that waits. If nobody does, the next wait is done at once;
// that is so for one, however often NotifyOne was called. Who was told, and gives up
// before he has seen it, has the next one told.
func (n *Notify) NotifyOne() { n.one(nil) }

// NotifyOneFrom is NotifyOne from a task, and wakes at less cost.
func (n *Notify) NotifyOneFrom(cx *sched.Context) { n.one(cx) }

// NotifyWaiters tells all that wait, and every WaitFuture there is that has not been
// done since. For those who come later it stores nothing. It costs as much as there are.
func (n *Notify) NotifyWaiters() { n.all(nil) }

// NotifyWaitersFrom is NotifyWaiters from a task, and wakes at less cost.
func (n *Notify) NotifyWaitersFrom(cx *sched.Context) { n.all(cx) }

// TryWait takes what NotifyOne has stored, and reports whether there was anything.
func (n *Notify) TryWait() bool {
	for {
		old := n.word.Load()
		if old&notifyState != notifyStored {
			return false
		}
		if n.word.CompareAndSwap(old, old&^notifyState) {
			return true
		}
	}
}

// Wait waits until the stackful task that calls it is told. Its error is
// sched.ErrCancelled when the task is aborted meanwhile.
func (n *Notify) Wait(cx *sched.Context) error {
	f := notifies.get()
	f.reset(n)
	if cx.Proceed() && n.TryWait() {
		notifies.put(f)
		return nil
	}
	_, err := sched.Await(cx, f)
	notifies.put(f)
	return err
}

// WaitContext waits until the goroutine that calls it, which must not be a worker's, is
// told. Its error is that of ctx.
func (n *Notify) WaitContext(ctx context.Context) error {
	f := notifies.get()
	f.reset(n)
	_, err := sched.Wait(ctx, f)
	notifies.put(f)
	return err
}

// A NotifyFuture waits to be told by a Notify. It fails never, and may be polled again to
// wait once more.
type NotifyFuture struct {
	n     *Notify
	since uint64 // the count of NotifyWaiters when it was made, or last done
	place place
}

var (
	_ sched.Future[struct{}] = (*NotifyFuture)(nil)
	_ sched.Canceler         = (*NotifyFuture)(nil)

	notifies pool[NotifyFuture]
)

// WaitFuture is a future that waits to be told. NotifyWaiters tells it from when it was
// made, so that a condition which is looked at between that and its first poll is not
// missed; for NotifyOne, its place in the queue is from its first poll.
func (n *Notify) WaitFuture() *NotifyFuture {
	f := new(NotifyFuture)
	f.reset(n)
	return f
}

func (f *NotifyFuture) reset(n *Notify) { f.n, f.since = n, n.calls() }

// Poll makes it a future.
func (f *NotifyFuture) Poll(cx *sched.Context) (struct{}, error) {
	w := cx.Waker()
	if waits(&f.place, w) || f.ready() && !cx.Proceed() || !f.n.poll(&f.place, &f.since, w) {
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// ready reports whether a poll is likely to be the last: see AcquireFuture.
func (f *NotifyFuture) ready() bool {
	switch f.place.Value.state.Load() {
	case idle:
		word := f.n.word.Load()
		return word&notifyState == notifyStored || word/notifyCall != f.since
	case queued:
		return false
	default:
		return true
	}
}

// Cancel gives the place back. If NotifyOne has told it already, the next one is told.
func (f *NotifyFuture) Cancel() { f.n.leave(&f.place) }
