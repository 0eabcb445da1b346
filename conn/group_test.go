package conn_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

func TestAGroupHasOneLogger(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	_, err := conn.NewGroup(conn.Config{Logger: log}, sched.Config{Logger: log})
	require.ErrorContains(t, err, "set conn.Config.Logger")
}

func TestConfigThatCannotWorkIsRefusedWithAdvice(t *testing.T) {
	for name, cfg := range map[string]conn.Config{
		"LowWater":      {LowWater: 2, HighWater: 1},
		"HighWater":     {HighWater: -1},
		"MaxWrite":      {MaxWrite: 1000},
		"MaxRead":       {MaxRead: -1},
		"LingerTimeout": {LingerTimeout: -1},
		"Buffers":       {Reactor: reactor.Config{Buffers: 3}},
		"backend":       {Reactor: reactor.Config{Backend: "select"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conn.NewGroup(cfg, sched.Config{})
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "use ")
			require.False(t, strings.Contains(err.Error(), "\n"), err)
			require.Equal(t, name == "backend", errors.Is(err, errors.ErrUnsupported))
		})
	}
}

func TestListenTakesOnlyListenersWithADescriptor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		ln := conntest.Listen(t)
		_, err := f.Listen(tls.NewListener(ln, nil), funcs{})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "*net.TCPListener")
		require.NoError(t, ln.Close())
		_, err = f.Listen(ln, funcs{})
		require.Error(t, err, "a listener that is closed")
		require.NoError(t, f.Group.Close())
		ln2 := conntest.Listen(t)
		_, err = f.Listen(ln2, funcs{})
		require.ErrorIs(t, err, sched.ErrClosed)
	})
}

func TestAListenersCloseRefusesNewConnectionsAndKeepsTheOld(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		l := f.listenTo(f.audit.of(funcs{data: echo}))
		c := f.dial()
		write(t, c, "x")
		read(t, c, 1)
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Close(), net.ErrClosed)
		refused := func() bool {
			again, err := dial(f.addr)
			if err == nil {
				_ = again.Close()
			}
			return errors.Is(conn.Portable(err), syscall.ECONNREFUSED)
		}
		if backend == "iocp" { // Wine keeps a closed listener until its last AcceptEx is canceled
			conntest.Eventually(t, refused)
		} else {
			require.True(t, refused())
		}
		write(t, c, "still here")
		require.Equal(t, "still here", string(read(t, c, 10)))
	})
}

// Connections come while a listener is closed.
func TestClosingAListenerUnderLoadLeavesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		for range 10 {
			l := f.listenTo(f.audit.of(funcs{data: echo}))
			var wg sync.WaitGroup
			var answered atomic.Int32
			for range 8 {
				wg.Go(func() {
					for {
						c, err := dial(l.Addr())
						if err != nil {
							return // refused at last
						}
						_, _ = c.Write([]byte("x"))
						if n, _ := c.Read(make([]byte, 1)); n == 1 {
							answered.Add(1)
						}
						_ = c.Close()
					}
				})
			}
			conntest.Eventually(t, func() bool { return answered.Load() > 20 })
			require.NoError(t, l.Close())
			wg.Wait()
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

func TestDrainTellsEveryConnectionAndWaitWaitsForTheirEnd(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		drained := make(chan conn.Handle, 20)
		f := serve(t, backend, workers, funcs{data: echo, drain: func(c *conn.Conn) { drained <- c.Handle() }})
		for range 20 {
			c := f.dial()
			write(t, c, "x")
			read(t, c, 1)
		}
		require.Equal(t, 20, f.Len())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, f.Wait(ended), context.Canceled)
		f.Drain()
		waited := make(chan error, 2)
		for range 2 {
			go func() { waited <- f.Wait(context.Background()) }()
		}
		for range 20 {
			h := conntest.Receive(t, drained)
			require.Empty(t, waited, "Wait returned before the end")
			require.NoError(t, h.Abort())
		}
		require.NoError(t, conntest.Receive(t, waited))
		require.NoError(t, conntest.Receive(t, waited))
		require.Zero(t, f.Len())
		require.NoError(t, f.Wait(ended), "nobody is left, so there is nothing to wait for")
	})
}

func TestWaitEndsWhenTheWorkersStop(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 2})
		require.NoError(t, err)
		_, err = g.Dial(full(t), funcs{})
		require.NoError(t, err)
		require.Equal(t, 1, g.Len())
		waited := make(chan error, 1)
		go func() { waited <- g.Wait(context.Background()) }()
		require.NoError(t, g.Close())
		require.ErrorIs(t, conntest.Receive(t, waited), sched.ErrClosed)
	})
}
