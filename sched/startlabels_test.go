package sched_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// Profiles of a process must not show the work of a runtime as that of the goroutine that happened
// to start it.
func TestWorkersHaveNoLabelsOfTheGoroutineThatStartedThem(t *testing.T) {
	for name, workers := range map[string]int{"one": 1, "two": 2} {
		t.Run(name, func(t *testing.T) {
			var rt *sched.Runtime
			pprof.Do(context.Background(), pprof.Labels("started", "by-request"), func(context.Context) {
				rt = start(t, sched.Config{Workers: workers})
				for range 4 { // stacks are made
					_, err := wait(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }))
					require.NoError(t, err)
				}
			})
			eventually(t, "no goroutine has the label", func() bool { return !bytes.Contains(goroutines(t), []byte("by-request")) })
		})
	}
}

// A task that leaves labels on its stack does not give them to the next task.
func TestAStackHasNoLabelsOfItsLastTask(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	_, err := wait(t, sched.Go(rt, func(*sched.Context) (int, error) {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("left", "by-the-last-task")))
		return 0, nil
	}))
	require.NoError(t, err)
	g := new(gate)
	h := sched.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await(cx, g) })
	eventually(t, "the task waits", func() bool { return g.polls.Load() > 0 })
	require.NotContains(t, string(goroutines(t)), "by-the-last-task")
	g.Open("")
	_, err = wait(t, h)
	require.NoError(t, err)
}

func goroutines(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	return b.Bytes()
}
