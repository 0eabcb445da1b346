//go:build explore

package syncx

import "github.com/suiro-go/suiro/sched"

// wakes is where the explorer's scenarios hear of wake-ups. The wakers are those of
// tasks that nobody runs.
var wakes func(w sched.Waker)

func wake(_ *sched.Context, w sched.Waker) { wakes(w) }
