package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor"
)

// echoUntilReset exchanges pieces until the connection is reset or there were enough. It returns
// how many came back. All bytes that come back must be right.
func echoUntilReset(addr net.Addr, r *rand.Rand, enough int) (pieces int, err error) {
	c, err := dial(addr)
	if errors.Is(err, syscall.ECONNRESET) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for ; pieces < enough; pieces++ {
		p := piece(r, 1+r.IntN(20<<10))
		got := make([]byte, len(p))
		written := make(chan error, 1)
		go func() { written <- writeAll(c, p) }()
		n, err := io.ReadFull(c, got)
		if err != nil {
			_ = c.Close()
		}
		failed := <-written
		switch {
		case !bytes.Equal(got[:n], p[:n]):
			return pieces, errors.New("wrong bytes came back")
		case errors.Is(err, os.ErrDeadlineExceeded):
			return pieces, err
		case err == nil && failed != nil:
			return pieces, failed
		case errors.Is(err, io.EOF) && pieces == 0 && n == 0: // the accept was dropped
			return pieces, nil
		case errors.Is(err, syscall.ECONNRESET), errors.Is(failed, syscall.ECONNRESET):
			return pieces, nil
		case err != nil:
			return pieces, fmt.Errorf("the connection ended, but not by a reset: %w", err)
		}
	}
	return pieces, nil
}

func TestTheServerOutlivesDroppedCompletions(t *testing.T) {
	for name, without := range map[string][]reactor.Feature{
		"multishot": nil,
		"no multishot": {
			reactor.FeatureMultishotAccept, reactor.FeatureMultishotRecv, reactor.FeatureIncremental,
		},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				if backend != "io_uring" {
					t.Skip("only io_uring has completions to drop")
				}
				plan := conntest.Faults(t, faults.Rule{Call: faults.Complete, Errno: syscall.EBADR, Odds: 0.01},
					faults.Rule{Call: faults.Wait, Errno: syscall.EBADR, Odds: 0.01})
				var told, failed atomic.Uint64
				f := serve(t, backend, workers, funcs{data: echo, close: func(_ *conn.Conn, err error) {
					if errors.Is(err, syscall.ENOMEM) {
						failed.Add(1)
					}
				}}, func(cfg *conn.Config) {
					cfg.Reactor.Without = without
					faults.Into(&cfg.Reactor, plan)
					cfg.Reactor.OnLoss = func(dropped, _ int) { told.Add(uint64(dropped)) }
				})
				conntest.Each(t, 20, func(i int) error {
					r := rand.New(rand.NewPCG(uint64(i), 30))
					for pieces := 0; pieces < 50; {
						n, err := echoUntilReset(f.addr, r, 50-pieces)
						if err != nil {
							return err
						}
						pieces += n
					}
					return nil
				})
				plan.Stop()
				dropped := uint64(plan.Injected(faults.Complete, syscall.EBADR))
				require.Positive(t, dropped)
				require.Positive(t, failed.Load())
				conntest.Eventually(t, func() bool { return f.Dropped() == dropped && told.Load() == dropped })
				require.Positive(t, f.log.Count("dropped completions"))
				conntest.Eventually(t, func() bool { return f.Len() == 0 })

				c := f.dial() // and all is as before
				p := bytes.Repeat([]byte("as before "), 200<<10)
				go func() { _, _ = c.Write(p) }()
				require.Equal(t, p, read(t, c, len(p)))
				require.Equal(t, dropped, f.Dropped())
				ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
				defer cancel()
				require.NoError(t, f.Shutdown(ctx))
			})
		})
	}
}

// A drop concerns one ring, so the connections of the other worker live on.
func TestDroppedCompletionsSpareOtherWorkers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" {
			t.Skip("only io_uring has completions to drop")
		}
		spareOtherWorkers(t)
	})
}

func spareOtherWorkers(t *testing.T) {
	plan := conntest.Faults(t,
		faults.Rule{Call: faults.Complete, Errno: syscall.EBADR, Every: 500, Most: 1})
	f := serve(t, "io_uring", 2, funcs{data: echo}, func(cfg *conn.Config) {
		faults.Into(&cfg.Reactor, plan)
	})
	var conns []net.Conn
	echoes := func(c net.Conn) bool {
		_, err := c.Write([]byte("echo"))
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 4))
		}
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		return err == nil
	}
	homes := make(chan int, 500)
	conntest.Eventually(t, func() bool { // a worker that is slow has its first runs done by the other
		for range 20 {
			c := f.dial()
			conns = append(conns, c)
			require.True(t, echoes(c))
		}
		on := map[int]bool{}
		asked := 0
		for i := range f.Connections() {
			require.NoError(t, i.Handle.Do(func(c *conn.Conn) { homes <- c.Home() }))
			asked++
		}
		for range asked {
			on[conntest.Receive(t, homes)] = true
		}
		return len(on) == 2
	})
	require.Zero(t, f.Dropped())
	for f.Dropped() == 0 {
		for _, c := range conns {
			echoes(c)
		}
	}
	alive := 0
	for _, c := range conns {
		if echoes(c) {
			alive++
		}
	}
	require.Positive(t, alive)
	require.Less(t, alive, len(conns))
	conntest.Eventually(t, func() bool { return f.Len() == alive })
}
