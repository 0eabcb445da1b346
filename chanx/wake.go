//go:build !explore

package chanx

import (
	"runtime"

	"github.com/suiro-go/suiro/sched"
)

const (
	spinsBeforePause = 20 // checks of a word that is about to change
	segmentSize      = 32 // values in a block of an unbounded channel; at most 62
)

// wake wakes w. cx is the context of the running task, which makes it cheaper, or nil.
func wake(cx *sched.Context, w sched.Waker) {
	if cx != nil {
		cx.Wake(w)
	} else {
		w.Wake()
	}
}

// pause lets other goroutines run before the caller checks again.
func pause() { runtime.Gosched() }
