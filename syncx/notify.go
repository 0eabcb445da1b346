package syncx

import (
	"context"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A Notify tells tasks that an event has happened, but not which one: they check that themselves.
// It is a semaphore with at most one permit, and none at the beginning (as Tokio's Notify). The
// zero value is ready for use. All methods may be called from any goroutine.
//
// The waiter that came first is notified first.
type Notify struct {
	// Bits 0 and 1 are the state; the other bits count the calls of NotifyWaiters. The state is
	// notifyWaited exactly when the list is not empty. It changes from and to that value only
	// under queue.mu, and so does the count.
	//
	// No notification is lost: a newcomer changes notifyNothing to notifyWaited under the lock, in
	// a compare-and-swap. An earlier NotifyOne has stored its permit, so that the swap fails. A
	// later one uses the list, under the lock.
	word  atomics.Uint64
	queue queue

	// due holds the waiters that NotifyWaiters has notified and that are not woken yet. They need
	// no further notification: NotifyOne is for waiters in the queue, or for the next one to
	// arrive. Their count is smaller than the current one. queue.mu guards it.
	due list.List[waiter]
}

const (
	notifyNothing = 0
	notifyWaited  = 1
	notifyStored  = 2
	notifyState   = 3
	notifyCall    = 4
)

// NotifyOne notifies the first waiter. If there is none, the next wait is done at once; that holds
// for one wait, however often NotifyOne was called. A notified waiter that is canceled before it
// runs passes the notification on.
func (n *Notify) NotifyOne() { n.one() }

// NotifyWaiters notifies all waiters, and every WaitFuture that exists and has not been done
// since. It stores nothing for later waits. Its cost is proportional to the number of waiters.
func (n *Notify) NotifyWaiters() { n.all() }

// TryWait takes the permit that NotifyOne has stored, and reports whether there was one.
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

// Wait waits until the caller is notified, as sched.Await does. Its error is that of sched.Await.
func (n *Notify) Wait(ctx context.Context) error {
	f := notifies.get()
	f.reset(n)
	if ctx != nil && sched.FromContext(ctx).Proceed() && n.TryWait() {
		notifies.put(f)
		return nil
	}
	_, err := sched.Await(ctx, f)
	notifies.put(f)
	return err
}

// A notifyFuture waits for a notification, see Notify.WaitFuture.
type notifyFuture struct {
	n     *Notify
	since uint64 // the count of NotifyWaiters when it was made, or last done
	place place
}

var (
	_ sched.Future[struct{}] = (*notifyFuture)(nil)
	_ sched.Canceler         = (*notifyFuture)(nil)
	_ sched.Undoer           = (*notifyFuture)(nil)

	notifies pool[notifyFuture]
)

// WaitFuture returns a future of a notification. NotifyWaiters reaches it from its creation on. So
// a change of a condition that is checked between the creation and the first poll is not missed.
// For NotifyOne, it enters the queue at its first poll. It never fails.
func (n *Notify) WaitFuture() sched.Future[struct{}] {
	f := new(notifyFuture)
	f.reset(n)
	return f
}

func (f *notifyFuture) reset(n *Notify) { f.n, f.since = n, n.calls() }

// Poll implements sched.Future.
func (f *notifyFuture) Poll(cx *sched.Context) (struct{}, error) {
	w := cx.Waker()
	if waits(&f.place, w) || f.ready() && !cx.Proceed() || !f.n.poll(&f.place, &f.since, w) {
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// ready reports whether a poll is likely to be the last: see acquireFuture.
func (f *notifyFuture) ready() bool {
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

// Cancel ends the wait. If NotifyOne has already notified it, the next waiter is notified.
func (f *notifyFuture) Cancel() { f.n.leave(&f.place) }

// Undo passes the notification of a NotifyOne on to the next waiter: see sched.Undoer.
func (f *notifyFuture) Undo() {
	if f.place.Value.got > 0 {
		f.place.Value.got = 0
		f.n.NotifyOne()
	}
}
