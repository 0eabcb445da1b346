//go:build explore

package chanx

import (
	"runtime"

	"github.com/suiro-go/suiro/sched"
)

const (
	spinsBeforePause = 0
	segmentSize      = 2
)

// The explorer's threads are no tasks: its tests put in what is to happen to them
// instead. nil: the usual.
var (
	wakeThread  func(w sched.Waker)
	pauseThread func()
)

func wake(cx *sched.Context, w sched.Waker) {
	switch {
	case wakeThread != nil:
		wakeThread(w)
	case cx != nil:
		cx.Wake(w)
	default:
		w.Wake()
	}
}

func pause() {
	if pauseThread != nil {
		pauseThread()
	} else {
		runtime.Gosched()
	}
}
