package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// Two goroutines that pass a token to each other need the only processor again and again, beside a
// worker that is always busy.
func TestABusyWorkerLetsGoroutinesRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, cfg := range map[string]sched.Config{
		"sleeper": {Workers: 1},
		"driver":  {Workers: 1, NewDriver: func(int) (sched.Driver, error) { return newFake(), nil }},
	} {
		t.Run(name, func(t *testing.T) {
			rt := start(t, cfg)
			var runs atomic.Int64
			newTask(rt, 0, func(cx *sched.Context) bool {
				runs.Add(1)
				cx.Waker().Wake()
				return false
			}).Wake()
			to, fro := make(chan int), make(chan int)
			go func() {
				for v := range to {
					fro <- v
				}
			}()
			for i := range 20 {
				to <- i
				require.Equal(t, i, receive(t, "the token comes back", fro))
			}
			close(to)
			before := runs.Load()
			eventually(t, "the task goes on too", func() bool { return runs.Load() > before })
		})
	}
}
