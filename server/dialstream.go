package server

import (
	"context"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// DialStream connects, and waits for the connection (see sched.Block). In a stackful task the
// Stream is bound to the task; elsewhere it is not bound, and a task that gets it calls Bind. It
// stays open until Close. With Dialer.TLS it speaks TLS, with the handshake complete. The end of
// ctx and an abort of the task end the attempt: the error then matches that of ctx, or
// sched.ErrCanceled.
func (d *Dialer) DialStream(ctx context.Context, network, addr string) (*Stream, error) {
	s := conn.NewStream()
	f := &dialStreamFuture{d.dialHandlerFuture(sched.WithoutTask(ctx), network, addr, s.Handler()), s}
	s, err := await(ctx, d, f)
	return s, d.ended(network, addr, err)
}

// DialStreamFuture is DialStream as a future, for one connection. Its first poll starts the dial.
// The Stream is bound to the stackful task that polls it last. A dropped future ends the attempt.
// Bound the time by Dialer.Timeout: its error names the address, that of sched.Timeout does not.
func (d *Dialer) DialStreamFuture(network, addr string) sched.Future[*Stream] {
	s := conn.NewStream()
	return &dialStreamFuture{d.dialHandlerFuture(context.Background(), network, addr, s.Handler()), s}
}

// A dialStreamFuture is a Stream that is being dialed.
type dialStreamFuture struct {
	dial   *dialHandlerFuture
	stream *Stream
}

var (
	_ sched.Future[*Stream] = (*dialStreamFuture)(nil)
	_ sched.Canceler        = (*dialStreamFuture)(nil)
)

// Poll returns the Stream, or the error.
func (f *dialStreamFuture) Poll(cx *sched.Context) (*Stream, error) {
	switch _, err := f.dial.Poll(cx); err {
	case nil:
		return f.stream.Bind(cx), nil
	case sched.ErrPending:
		return nil, err
	default:
		_ = f.stream.Close() // it may have received already
		return nil, err
	}
}

// Cancel ends the attempt.
func (f *dialStreamFuture) Cancel() {
	f.dial.Cancel()
	f.stream.Abort()
}
