package chanx

import "github.com/suiro-go/suiro/sched"

// RecvManyFuture is RecvMany as a future. Like RecvFuture it belongs to the receiver's task. Until
// it is done or abandoned, only the future may use buf. It can be used again for further values.
// Its error is ErrClosed. An abandoned future has received nothing.
func (r *UnboundedReceiver[T]) RecvManyFuture(buf []T) sched.Future[int] {
	return &unboundedRecvManyFuture[T]{r, buf}
}

// An unboundedRecvManyFuture receives values, see UnboundedReceiver.RecvManyFuture.
type unboundedRecvManyFuture[T any] struct {
	r   *UnboundedReceiver[T]
	buf []T
}

var (
	_ sched.Future[int] = (*unboundedRecvManyFuture[int])(nil)
	_ sched.Canceler    = (*unboundedRecvManyFuture[int])(nil)
)

// Poll receives all available values, up to len(buf). If there is none, the task is woken when
// there is one.
func (f *unboundedRecvManyFuture[T]) Poll(cx *sched.Context) (int, error) {
	if len(f.buf) == 0 {
		return 0, nil
	}
	v, err := f.r.ch.wait.Poll(cx)
	return f.r.fill(f.buf, v, err)
}

// Cancel ends the future's wait. Nothing has been received.
func (f *unboundedRecvManyFuture[T]) Cancel() { f.r.ch.wait.Cancel() }
