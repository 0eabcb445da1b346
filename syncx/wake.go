//go:build !explore

package syncx

import "github.com/suiro-go/suiro/sched"

// wake wakes from a task, or with nil from anywhere. Not under a lock: it takes others.
func wake(cx *sched.Context, w sched.Waker) {
	if cx == nil {
		w.Wake()
	} else {
		cx.Wake(w)
	}
}
