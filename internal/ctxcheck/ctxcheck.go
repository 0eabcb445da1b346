// Package ctxcheck asks before a call begins whether its context has ended.
package ctxcheck

import (
	"context"

	"github.com/suiro-go/suiro/internal/ctxend"
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
