package server

import (
	"context"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// await is sched.Block for a future of the Dialer's group. A context that has ended, other than the
// task's own, begins nothing.
func await[T any](ctx context.Context, d *Dialer, f sched.Future[T]) (v T, err error) {
	if err := ctxcheck.Ended(ctx); err != nil {
		return v, err
	}
	if err := ctxcheck.Refused(ctx); err != nil { // the first poll begins to connect
		return v, err
	}
	g, err := d.group()
	if err != nil {
		return v, err
	}
	if sched.FromContext(ctx) == nil && ctx != nil {
		var release func()
		ctx, release = bubble.Context(ctx)
		defer release()
	}
	return sched.Block(ctx, g.Runtime(), f)
}
