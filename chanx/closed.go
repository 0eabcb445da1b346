package chanx

import (
	"context"
	"sync"

	"github.com/suiro-go/suiro/sched"
)

// A closedFuture is done when nobody receives from a sender's channel any more: see
// Sender.ClosedFuture.
type closedFuture struct {
	ch   closable
	node waiter
}

// A closable is the sending side of a channel.
type closable interface {
	IsClosed() bool
	closing() *waitQueue // the waiters for that
}

var (
	_ sched.Future[struct{}] = (*closedFuture)(nil)
	_ sched.Canceler         = (*closedFuture)(nil)

	closedFutures sync.Pool // unused futures
)

// Poll is done if a send would fail with ErrClosed. Otherwise it arranges for the task to be woken
// when that is so.
func (f *closedFuture) Poll(cx *sched.Context) (struct{}, error) {
	return struct{}{}, f.await(cx.Waker())
}

func (f *closedFuture) await(w sched.Waker) error {
	if !f.ch.IsClosed() {
		f.ch.closing().enlist(&f.node, w)
		if !f.ch.IsClosed() { // no wake-up is lost: see waitQueue
			return sched.ErrPending
		}
	}
	f.Cancel()
	return nil
}

// Cancel ends the future's wait.
func (f *closedFuture) Cancel() { f.ch.closing().leave(&f.node) }

func awaitClosed(ctx context.Context, ch closable) error {
	f := take[closedFuture](&closedFutures)
	f.ch = ch
	_, err := sched.Await(ctx, f)
	f.ch = nil
	closedFutures.Put(f)
	return err
}

// Closed waits until nobody receives any more, so that a send would fail with ErrClosed: the last
// Receiver was closed, or Stop was called. On a closed handle it returns at once; closing the
// handle during the wait does not end the wait. Its error is that of sched.Await. It allocates
// nothing.
func (s *Sender[T]) Closed(ctx context.Context) error { return awaitClosed(ctx, s) }

// ClosedFuture is Closed as a future, which never fails and uses no budget. In a Select it ends
// work whose result nobody would receive.
func (s *Sender[T]) ClosedFuture() sched.Future[struct{}] { return &closedFuture{ch: s} }

func (s *Sender[T]) closing() *waitQueue { return &s.ch.closers }

// Closed waits until the receiver is closed or has called Stop: see Sender.Closed.
func (s *UnboundedSender[T]) Closed(ctx context.Context) error { return awaitClosed(ctx, s) }

// ClosedFuture is Closed as a future.
func (s *UnboundedSender[T]) ClosedFuture() sched.Future[struct{}] { return &closedFuture{ch: s} }

func (s *UnboundedSender[T]) closing() *waitQueue { return &s.ch.closers }

// Closed waits until there is no receiver: see Sender.Closed. Subscribe can add receivers later.
func (s *BroadcastSender[T]) Closed(ctx context.Context) error { return awaitClosed(ctx, s) }

// ClosedFuture is Closed as a future.
func (s *BroadcastSender[T]) ClosedFuture() sched.Future[struct{}] { return &closedFuture{ch: s} }

// IsClosed reports whether a Send would fail with ErrClosed: there is no receiver, or this
// handle is closed.
func (s *BroadcastSender[T]) IsClosed() bool { return s.closed.Load() || s.Receivers() == 0 }

func (s *BroadcastSender[T]) closing() *waitQueue { return &s.ch.closers }

// Closed waits until there is no receiver: see Sender.Closed. Subscribe can add receivers later.
func (s *WatchSender[T]) Closed(ctx context.Context) error { return awaitClosed(ctx, s) }

// ClosedFuture is Closed as a future.
func (s *WatchSender[T]) ClosedFuture() sched.Future[struct{}] { return &closedFuture{ch: s} }

// IsClosed reports whether a Send would fail with ErrClosed: there is no receiver, or this
// handle is closed.
func (s *WatchSender[T]) IsClosed() bool { return s.closed.Load() || s.ch.receiving.Load() == 0 }

func (s *WatchSender[T]) closing() *waitQueue { return &s.ch.closers }
