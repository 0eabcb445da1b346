package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A function that awaits with the context of the enclosing function panics. The other one goes on.
func TestAwaitWithTheContextOfAnEnclosingTaskPanics(t *testing.T) {
	sleep := func(cx *sched.Context) (int, error) {
		_, err := sched.Await(cx, sched.Sleep(time.Millisecond))
		return 1, err
	}
	for _, workers := range []int{1, 2} {
		rt := sched.New(sched.Config{Workers: workers})
		defer rt.Close()
		var inner error
		n, err := sched.Go(rt, func(outer *sched.Context) (int, error) {
			_, inner = sched.Await(outer, sched.Go(outer, func(*sched.Context) (int, error) { return sleep(outer) }))
			return sched.Await(outer, sched.Go(outer, sleep))
		}).Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		var p *sched.PanicError
		require.ErrorAs(t, inner, &p)
		require.ErrorContains(t, inner, "context of another task")
	}
}
