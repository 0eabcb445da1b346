package conn_test

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestReadDeadlineIsNotEarlyAndEndsAConnectionWithBase(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const d = 30 * time.Millisecond
		deadline := make(chan time.Time, 1)
		early := make(chan time.Duration, 1)
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{
			open: func(c *conn.Conn) error {
				at := time.Now().Add(d)
				deadline <- at
				return c.SetReadDeadline(at)
			},
			deadline: func(c *conn.Conn) error {
				early <- time.Until(<-deadline)
				return conn.Base{}.OnDeadline(c)
			},
			close: tell,
		})
		c := f.dial()
		require.LessOrEqual(t, conntest.Receive(t, early), time.Duration(0))
		require.Empty(t, readEOF(t, c)) // an orderly close
		require.NoError(t, c.Close())
		require.ErrorIs(t, conntest.Receive(t, closed), os.ErrDeadlineExceeded)
	})
}

// Traffic extends, and OnDeadline runs once per deadline.
func TestReadDeadlineMovesWithEachMessage(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const d = 120 * time.Millisecond
		var last, told atomic.Int64 // deadlines: the one that is set, the one that OnDeadline had
		var twice atomic.Bool
		early := make(chan time.Duration, 1000)
		f := serve(t, backend, 2, funcs{
			data: func(c *conn.Conn) error {
				at := time.Now().Add(d)
				last.Store(at.UnixNano())
				if err := c.SetReadDeadline(at); err != nil {
					return err
				}
				return echo(c)
			},
			deadline: func(*conn.Conn) error {
				if told.Swap(last.Load()) == last.Load() {
					twice.Store(true)
				}
				early <- time.Duration(last.Load() - time.Now().UnixNano())
				return nil
			},
		})
		c := f.dial()
		for start := time.Now(); time.Since(start) < 2*d; { // beyond the first deadline
			write(t, c, "x")
			read(t, c, 1)
		}
		require.LessOrEqual(t, conntest.Receive(t, early), time.Millisecond, "the clocks may differ that much")
		write(t, c, "still here")
		require.Equal(t, "still here", string(read(t, c, 10)))
		require.False(t, twice.Load(), "OnDeadline was called twice for one deadline")
	})
}

func TestAnEarlierReadDeadlineReplacesALaterOneAndZeroClearsIt(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		fired := make(chan string, 10)
		handles := make(chan conn.Handle, 10)
		f := serve(t, backend, 1, funcs{
			open: func(c *conn.Conn) error {
				handles <- c.Handle()
				return nil
			},
			deadline: func(c *conn.Conn) error {
				fired <- c.Value().(string)
				return nil
			},
		})
		set := func(name string, ats ...time.Time) {
			t.Helper()
			f.dial()
			require.NoError(t, conntest.Receive(t, handles).Do(func(c *conn.Conn) {
				c.SetValue(name)
				for _, at := range ats {
					if err := c.SetReadDeadline(at); err != nil {
						t.Error(err)
					}
				}
			}))
		}
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		set("cleared", in(10*time.Millisecond), time.Time{})
		set("far off", time.Unix(1<<60, 0))
		set("sooner", in(time.Hour), in(20*time.Millisecond))
		set("past", in(-time.Hour))
		set("before there were computers", time.Unix(-1<<40, 0))
		set("later", in(10*time.Millisecond), in(80*time.Millisecond))
		got := map[string]int{}
		for range 4 {
			got[conntest.Receive(t, fired)]++
		}
		require.Equal(t, map[string]int{"sooner": 1, "past": 1, "before there were computers": 1, "later": 1}, got)
		require.Empty(t, fired)
	})
}

// A timer may be fired by one worker while the connection is in line at another,
// whose tick began before.
func TestADeadlineIsNotLostOnAWorkerThatIsBusy(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		type place struct {
			worker int
			handle conn.Handle
		}
		opened, fired := make(chan place, 6), make(chan struct{}, 1)
		f := serve(t, backend, 2, funcs{
			open:     func(c *conn.Conn) error { opened <- place{c.Worker(), c.Handle()}; return nil },
			deadline: func(*conn.Conn) error { fired <- struct{}{}; return nil },
		})
		var there []conn.Handle // on worker 1; worker 0 waits for timers
		for len(there) < 3 {
			f.dial()
			if p := conntest.Receive(t, opened); p.worker == 1 {
				there = append(there, p.handle)
			}
		}
		deadline := time.Now().Add(150 * time.Millisecond)
		set := make(chan struct{})
		require.NoError(t, there[2].Do(func(c *conn.Conn) { _ = c.SetReadDeadline(deadline); close(set) }))
		conntest.Receive(t, set)
		// The first keeps the worker until the other two are in line behind it,
		// for the same tick; the second until the third's timer has fired.
		gate := make(chan struct{})
		require.NoError(t, there[0].Do(func(*conn.Conn) { <-gate }))
		require.NoError(t, there[1].Do(func(*conn.Conn) { time.Sleep(time.Until(deadline) + 50*time.Millisecond) }))
		require.NoError(t, there[2].Do(func(*conn.Conn) {}))
		close(gate)
		conntest.Receive(t, fired)
	})
}
