package conn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// doubted puts a connection in doubt, and returns the driver of the worker that is to look.
func (f *fixture) doubted() *conn.Driver {
	f.t.Helper()
	all := f.drivers()
	c := f.dial()
	for range 100 {
		write(f.t, c, "hello")
		require.Equal(f.t, "hello", string(read(f.t, c, 5)))
		for _, d := range all {
			if d.Doubted() > 0 {
				return d
			}
		}
	}
	f.t.Fatal("nobody is in doubt")
	return nil
}

// A worker that gets no wake-up goes on sleeping, even with completions in its queue.
func TestAPollReportsWhatALookHasWoken(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" {
			t.Skip("no end is overlooked: nobody is in doubt")
		}
		f := serve(t, backend, 1, funcs{data: echo})
		for range 100 { // the worker may have looked before
			c := f.dial()
			write(t, c, "hello")
			require.Equal(t, "hello", string(read(t, c, 5)))
			polled := make(chan int, 1)
			f.on(0, func(cx *sched.Context) {
				d := cx.Driver().(*conn.Driver)
				if d.Doubted() == 0 {
					polled <- -1
					return
				}
				reset(c)
				n, err := conn.PollDoubts(d, cx)
				assert.NoError(t, err)
				polled <- n
			})
			if n := conntest.Receive(t, polled); n >= 0 {
				require.Equal(t, 1, n)
				return
			}
		}
		t.Fatal("nobody is in doubt")
	})
}

// While a worker is stuck in a handler, another one looks whether connections have ended that the
// worker had in doubt.
func TestTheDoubtsOfAStuckWorkerAreLookedAt(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" {
			t.Skip("no end is overlooked: nobody is in doubt")
		}
		f := serve(t, backend, 2, funcs{data: echo})
		for range 100 { // the worker may have looked before it is stuck
			d := f.doubted()
			release := f.stick(d.Worker)
			if d.Doubted() == 0 {
				release()
				continue
			}
			conntest.Eventually(t, func() bool { return d.Doubted() == 0 })
			return
		}
		t.Fatal("no worker was stuck in time")
	})
}

// The kernel overlooks ends by real time, so a virtual clock that stands still keeps no connection
// in doubt.
func TestDoubtsAreLookedAtWhileAVirtualClockStandsStill(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" {
			t.Skip("no end is overlooked: nobody is in doubt")
		}
		f := newVirtual(t, backend, 1)
		l := f.listen("tcp", "127.0.0.1:0", funcs{data: echo})
		d := f.doubted()
		conntest.Eventually(t, func() bool { return d.Doubted() == 0 })
		require.Less(t, f.Runtime().Now(), time.Millisecond, "the clock has moved")
		require.NoError(t, l.Close())
	})
}
