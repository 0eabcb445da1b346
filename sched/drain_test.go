package sched_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

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
