//go:build explore

package syncx

import "github.com/suiro-go/suiro/sched"

// wakes receives all wake-ups in the explorer's scenarios. The wakers belong to tasks that nobody
// runs.
var wakes func(w sched.Waker)

func wake(w sched.Waker) { wakes(w) }
