package chanx

import "github.com/suiro-go/suiro/sched"

// RecvManyFuture is RecvMany as a future. Like RecvFuture it belongs to the receiver's task. Until
// it is done or abandoned, only the future may use buf. An abandoned future has received nothing.
func (r *UnboundedReceiver[T]) RecvManyFuture(buf []T) *UnboundedRecvManyFuture[T] {
	return &UnboundedRecvManyFuture[T]{r, buf}
}

// An UnboundedRecvManyFuture receives values, see UnboundedReceiver.RecvManyFuture. Its error is
// ErrClosed.
type UnboundedRecvManyFuture[T any] struct {
	r   *UnboundedReceiver[T]
	buf []T
}

var (
	_ sched.Future[int] = (*UnboundedRecvManyFuture[int])(nil)
	_ sched.Canceler    = (*UnboundedRecvManyFuture[int])(nil)
)

// Poll receives all available values, up to len(buf). If there is none, the task is woken when
// there is one. After it was done, it receives more values.
func (f *UnboundedRecvManyFuture[T]) Poll(cx *sched.Context) (int, error) {
	if len(f.buf) == 0 {
		return 0, nil
	}
	v, err := f.r.RecvFuture().Poll(cx)
	return f.r.fill(f.buf, v, err)
}

// Cancel ends the future's wait. Nothing has been received.
func (f *UnboundedRecvManyFuture[T]) Cancel() { f.r.RecvFuture().Cancel() }
