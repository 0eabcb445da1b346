package chanx

import "github.com/suiro-go/suiro/sched"

// ReserveOwnedFuture is ReserveOwned as a future. When the future is done, the handle belongs to
// the permit. An abandoned future gives its place back.
func (s *Sender[T]) ReserveOwnedFuture() *ReserveOwnedFuture[T] {
	return &ReserveOwnedFuture[T]{s, s.ReserveFuture()}
}

// A ReserveOwnedFuture is an OwnedPermit that a task waits for.
type ReserveOwnedFuture[T any] struct {
	sender  *Sender[T]
	reserve *ReserveFuture[T]
}

var (
	_ sched.Future[OwnedPermit[int]] = (*ReserveOwnedFuture[int])(nil)
	_ sched.Canceler                 = (*ReserveOwnedFuture[int])(nil)
)

// Poll is Poll of a ReserveFuture, with the handle.
func (f *ReserveOwnedFuture[T]) Poll(cx *sched.Context) (OwnedPermit[T], error) {
	return f.sender.owned(f.reserve.Poll(cx))
}

// Cancel ends the wait.
func (f *ReserveOwnedFuture[T]) Cancel() { f.reserve.Cancel() }
