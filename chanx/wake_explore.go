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

// The explorer's threads are not tasks, so its tests replace these functions. nil: the usual
// behavior.
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
