// Package background starts goroutines that go on after the call that has started them. Go gives a
// goroutine the labels of the one that has started it (see pprof.SetGoroutineLabels). So profiles
// would show this work as that of the goroutine that happened to start it.
package background

import (
	"context"
	"runtime/pprof"
)

// Go runs f on a new goroutine, which has no labels.
func Go(f func()) {
	go func() {
		Unlabel()
		f()
	}()
}

// Unlabel removes the labels of the current goroutine.
func Unlabel() { pprof.SetGoroutineLabels(context.Background()) }
