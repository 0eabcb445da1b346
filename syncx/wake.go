//go:build !explore

package syncx

import "github.com/suiro-go/suiro/sched"

// wake wakes a task. It takes other locks, so it must not be called under one.
func wake(w sched.Waker) { w.Wake() }
