//go:build !explore

package syncx

import "github.com/suiro-go/suiro/sched"

// wake wakes a task. cx is the context of the running task, or nil. It takes other locks, so it
// must not be called under one.
func wake(cx *sched.Context, w sched.Waker) {
	if cx == nil {
		w.Wake()
	} else {
		cx.Wake(w)
	}
}
