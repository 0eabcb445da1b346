//go:build !explore

package sched

import "context"

// afterEnd is context.AfterFunc.
func afterEnd(ctx context.Context, f func()) (stop func() bool) { return context.AfterFunc(ctx, f) }
