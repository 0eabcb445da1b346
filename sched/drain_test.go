package sched_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// successor is a task that spawns the next one as its last act.
func successor(left int, ended *atomic.Int64) sched.Future[int] {
	return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		if left > 0 {
			sched.Spawn(cx, successor(left-1, ended)).Detach()
		}
		ended.Add(1)
		return 0, nil
	})
}

func TestShutdownSaysHowManyTasksAreLeft(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	const n = 1000
	gates := make([]gate, n)
	for i := range gates {
		sched.Spawn(rt, sched.Future[string](&gates[i]))
	}
	for i := range gates {
		eventually(t, "a task waits", func() bool { return gates[i].polls.Load() > 0 })
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shut := make(chan error, 1)
	go func() { shut <- rt.Shutdown(ctx) }()
	receive(t, "the runtime drains", rt.Draining().Done())
	for i := range n / 2 {
		gates[i].Open("")
	}
	eventually(t, "half of them end", func() bool { return rt.Tasks() == n/2 })
	cancel()
	require.ErrorContains(t, receive(t, "Shutdown returns", shut), "500 tasks were left")
}
