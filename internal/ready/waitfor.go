package ready

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/sched"
)

// WaitFor waits for a future of a socket (see sched.Block). When the workers stop, the goroutine
// may notice that before the socket's end. The error is then that of a closed socket: closed adds
// to net.ErrClosed what a call says of itself.
func WaitFor[T any](
	ctx context.Context, rt *sched.Runtime, f sched.Future[T], closed func(error) error,
) (T, error) {
	v, err := sched.Block(ctx, rt, f)
	if err == sched.ErrClosed {
		err = closed(net.ErrClosed)
	}
	return v, err
}
