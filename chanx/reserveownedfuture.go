package chanx

import "github.com/suiro-go/suiro/sched"

// ReserveOwnedFuture is ReserveOwned as a future. When the future is done, the handle belongs to
// the permit. Its error is ErrClosed. An abandoned future gives its place back.
func (s *Sender[T]) ReserveOwnedFuture() sched.Future[OwnedPermit[T]] {
	return &reserveOwnedFuture[T]{s, s.reserveFuture()}
}

// A reserveOwnedFuture is an OwnedPermit that a task waits for.
type reserveOwnedFuture[T any] struct {
	sender  *Sender[T]
	reserve *reserveFuture[T]
}

var (
	_ sched.Future[OwnedPermit[int]] = (*reserveOwnedFuture[int])(nil)
	_ sched.Canceler                 = (*reserveOwnedFuture[int])(nil)
)

// Poll is Poll of a reserveFuture, with the handle.
func (f *reserveOwnedFuture[T]) Poll(cx *sched.Context) (OwnedPermit[T], error) {
	return f.sender.owned(f.reserve.Poll(cx))
}

// Cancel ends the wait.
func (f *reserveOwnedFuture[T]) Cancel() { f.reserve.Cancel() }
