//go:build explore

package sched

import "context"

// afterEnd makes ctx call f when it ends. If ctx can do that itself, f is called by the thread of
// the exploration that ends it; context.AfterFunc would start a goroutine.
func afterEnd(ctx context.Context, f func()) (stop func() bool) {
	if ctx, ok := ctx.(interface {
		AfterFunc(f func()) (stop func() bool)
	}); ok {
		return ctx.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}
