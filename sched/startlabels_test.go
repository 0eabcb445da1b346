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

func TestHelpersHaveNoLabelsOfTheGoroutineThatStartedThem(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	called, end := make(chan bool), make(chan bool)
	received, ch := make(chan int), make(chan int)
	poll := sched.Recv(ch)
	pprof.Do(context.Background(), pprof.Labels("started", "by-request"), func(context.Context) {
		rt.AfterFunc(0, func() { close(called); <-end })
		_, err := sched.Block(context.Background(), rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			_, err := poll.Poll(cx)
			require.Equal(t, sched.ErrPending, err)
			return 0, nil
		}))
		require.NoError(t, err)
	})
	receive(t, "the function is called", called)
	require.Equal(t, 1, sched.Taps())
	require.NotContains(t, string(goroutines(t)), "by-request")
	close(end)
	go func() {
		v, _ := sched.Await(context.Background(), poll)
		received <- v
	}()
	ch <- 1
	require.Equal(t, 1, receive(t, "the value", received))
}
