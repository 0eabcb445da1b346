// Package ctxcheck asks before a call begins whether its context has ended, and whether the call
// may wait with it.
package ctxcheck

import (
	"context"

	"github.com/suiro-go/suiro/internal/ctxend"
	"github.com/suiro-go/suiro/internal/onworker"
	"github.com/suiro-go/suiro/sched"
)

// Ended is the error of a ctx that has ended (see ctxend.Reason); nil: the call begins. The end of
// a task's own context is that of its next wait, and a nil ctx has an error of its own there.
func Ended(ctx context.Context) error {
	if _, isTask := ctx.(*sched.Context); isTask || ctx == nil {
		return nil
	}
	return ctxend.Reason(ctx)
}

// Refused is sched.ErrBlocksWorker if a wait with ctx would block a worker. An Await refuses a wait
// only once the future has been polled. A call whose first poll has an effect, or that waits more
// than once, asks here before. A nil ctx is refused as Await does.
func Refused(ctx context.Context) error {
	if sched.FromContext(ctx) != nil {
		return nil
	}
	return Blocks(ctx)
}

// Blocks is Refused for a call that blocks its goroutine with any context.
func Blocks(ctx context.Context) error {
	if ctx == nil {
		_, err := sched.Await(ctx, sched.Yield())
		return err
	}
	return onworker.Wait()
}
