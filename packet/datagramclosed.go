package packet

import (
	"context"

	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/sched"
)

// Closed waits until the socket was closed, by Close or by the group, and its port is free. It
// returns nil also when the workers have stopped.
func (s *DatagramSocket[A]) Closed(ctx context.Context) error {
	_, err := sched.Block(ctx, s.sock.Group().RT, s.ClosedFuture())
	if err == sched.ErrClosed {
		err = nil
	}
	return err
}

// ClosedFuture is Closed as a future. It never fails.
func (s *DatagramSocket[A]) ClosedFuture() sched.Future[struct{}] {
	return &closedFuture{s: &s.sock}
}

// A closedFuture waits for the end of a socket.
type closedFuture struct {
	s    *ready.Socket
	wait ready.EndWait
}

// Poll implements sched.Future.
func (f *closedFuture) Poll(cx *sched.Context) (struct{}, error) {
	return struct{}{}, f.s.PollEnd(cx, &f.wait)
}

// Cancel implements sched.Canceler.
func (f *closedFuture) Cancel() { f.s.DropEnd(&f.wait) }
