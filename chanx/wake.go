//go:build !explore

package chanx

import (
	"runtime"

	"github.com/suiro-go/suiro/sched"
)

const (
	spinsBeforePause = 20 // looks at what is about to change
	segmentSize      = 32 // values in a block of an unbounded channel; at most 62
)

// wake wakes w; cx is the context of the running task, or nil: it is cheaper with one.
func wake(cx *sched.Context, w sched.Waker) {
	if cx != nil {
		cx.Wake(w)
	} else {
		w.Wake()
	}
}

// pause lets others go on before one that can do nothing better than look again.
func pause() { runtime.Gosched() }
