package conn_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// The queue of completions has 4 places, and 64 connections receive a byte while the worker is in a
// handler. The kernel keeps the other completions, and none is lost.
func TestAFullQueueOfCompletionsIsCounted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		entered, release := make(chan bool, 1), make(chan struct{})
		f := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error {
			if p, _ := c.Peek(1); string(p) == "w" {
				entered <- true
				<-release
			}
			return echo(c)
		}}, func(cfg *conn.Config) { cfg.Reactor.Entries = 1 })
		all := make([]net.Conn, 64)
		for i := range all {
			all[i] = f.dial()
			write(t, all[i], "x") // it receives from now on
			require.Equal(t, "x", string(read(t, all[i], 1)))
		}
		before := value(f.Group, "suiro.io_uring.overflows")
		waits := f.dial()
		write(t, waits, "w")
		conntest.Receive(t, entered)
		for _, c := range all {
			write(t, c, "y")
		}
		close(release)
		for _, c := range all {
			require.Equal(t, "y", string(read(t, c, 1)))
		}
		require.Equal(t, "w", string(read(t, waits, 1)))
		if backend != "io_uring" {
			require.Zero(t, value(f.Group, "suiro.io_uring.overflows"))
			return
		}
		require.Greater(t, value(f.Group, "suiro.io_uring.overflows"), before)
		require.Zero(t, value(f.Group, "suiro.io_uring.dropped_completions"))
	})
}

func TestWhatAWorkerDoesMovesItsFigures(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 1, funcs{data: echo})
		c := f.dial()
		turn := func() { // the worker waits for each of these bytes
			write(t, c, "x")
			require.Equal(t, "x", string(read(t, c, 1)))
		}
		turn()
		names := []string{"suiro.worker.runs", "suiro.worker.events", "suiro.worker.parks", "suiro.worker.unparks", "suiro.worker.poll.events", "suiro.worker.busy_time"}
		before := make([]float64, len(names))
		for i, name := range names {
			before[i] = value(f.Group, name)
		}
		for i, name := range names {
			conntest.Eventually(t, func() bool {
				turn()
				return value(f.Group, name) > before[i]
			}, name)
		}
		const tasks = 100
		runs, completed := value(f.Group, "suiro.worker.runs"), value(f.Group, "suiro.task.completed")
		for range tasks {
			_, err := sched.Go(f.Runtime(), func(*sched.Context) (int, error) { return 0, nil }).Wait(t.Context())
			require.NoError(t, err)
		}
		conntest.Eventually(t, func() bool { return value(f.Group, "suiro.task.completed") == completed+tasks }, "tasks")
		conntest.Eventually(t, func() bool { return value(f.Group, "suiro.worker.runs") >= runs+tasks }, "runs")
		require.Zero(t, value(f.Group, "suiro.worker.steals"), "it is alone")
		require.Zero(t, value(f.Group, "suiro.worker.rescues"))
	})
}
