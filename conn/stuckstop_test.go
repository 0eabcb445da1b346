package conn_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// stickAll sticks every worker until release is called.
func (f *fixture) stickAll(workers int) (release func()) {
	var all []func()
	for worker := range workers {
		all = append(all, f.stick(worker))
	}
	return func() {
		for _, release := range all {
			release()
		}
	}
}

func TestAListenersCloseRefusesWhileAllWorkersAreStuck(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if backend == "iocp" {
			t.Skip("only the worker can close a socket there: Listener.Close says so")
		}
		f := newFixture(t, backend, workers)
		for _, pinned := range []int{conn.AnyWorker, workers - 1} {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			l, err := f.ListenOn(pinned, ln, f.audit.of(funcs{data: echo}))
			require.NoError(t, err)
			require.NoError(t, ln.Close())
			f.addr = l.Addr()
			c := f.dial()
			write(t, c, "x")
			read(t, c, 1)
			release := f.stickAll(workers)
			ended := make(chan error, 1)
			go func() { ended <- l.Close() }()
			require.NoError(t, conntest.Receive(t, ended))
			_, err = dial(f.addr)
			require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
			again, err := net.Listen("tcp", f.addr.String())
			require.NoError(t, err, "the address is free")
			require.NoError(t, again.Close())
			release()
			write(t, c, "still here")
			require.Equal(t, "still here", string(read(t, c, 10)))
		}
	})
}

// A listener that shares its socket with another descriptor closes its own alone.
func TestAListenersCloseWhileStuckLeavesAnothersDescriptor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		ln := conntest.Listen(t)
		l, err := f.Listen(ln, f.audit.of(funcs{data: echo}))
		require.NoError(t, err)
		f.rounds(2)
		release := f.stickAll(1)
		err = l.Close()
		require.True(t, err == nil || backend == "iocp" && errors.Is(err, conn.ErrStuck), err)
		c, err := dial(ln.Addr())
		require.NoError(t, err)
		defer c.Close()
		if backend != "iocp" {
			got, err := ln.Accept()
			require.NoError(t, err)
			require.NoError(t, got.Close())
		}
		release()
	})
}

func TestAGroupsStopAndCloseReturnThoughATaskNeverDoes(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var closed, tell = ends(workers)
		caught, open := make(chan bool, workers), make(chan bool)
		f := serve(t, backend, workers, funcs{close: tell, data: func(c *conn.Conn) error {
			caught <- true
			<-open
			return discard(c)
		}})
		for range workers {
			write(t, f.dial(), "x")
			conntest.Receive(t, caught)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		err := f.Stop(over)
		require.ErrorIs(t, err, conn.ErrStuck)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "worker 0 is in a task for ")
		close(open)
		for range workers {
			require.Error(t, conntest.Receive(t, closed))
		}
		conntest.Receive(t, f.Runtime().Done())
	})
}

func TestAGroupsCloseNamesTheWorkerThatIsStuck(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 2})
		require.NoError(t, err)
		require.NoError(t, g.Runtime().Start())
		f := &fixture{Group: g, t: t}
		release := f.stick(1)
		err = g.Close()
		require.ErrorIs(t, err, conn.ErrStuck)
		require.ErrorContains(t, err, "worker 1 is in a task for ")
		release()
		conntest.Receive(t, g.Runtime().Done())
	})
}

// Beside a stuck handler nothing that begins may hold Stop up, or be left behind.
func TestDialsDuringStopDoNotHoldItUp(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ln := conntest.Listen(t)
		release := f.stickAll(workers)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		quit, dialing := make(chan struct{}), sync.WaitGroup{}
		for range 4 {
			dialing.Go(func() {
				for !isClosed(quit) {
					ctx, cancel := context.WithTimeout(context.Background(), 37*time.Millisecond)
					if c, err := f.DialSocketContext(ctx, ln.Addr()); err == nil {
						_ = c.Close()
					}
					<-ctx.Done()
					cancel()
				}
			})
		}
		stopped := make(chan error, 1)
		go func() { stopped <- f.Stop(over) }()
		require.ErrorIs(t, conntest.Receive(t, stopped), conn.ErrStuck)
		close(quit)
		dialing.Wait()
		release()
		conntest.Receive(t, f.Runtime().Done())
	})
}

func isClosed(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Connections that begin while a group stops are refused.
func TestADialAndAListenDuringStopAreRefused(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ln := conntest.Listen(t)
		caught, open := make(chan bool), make(chan bool)
		_, err := f.Dial(ln.Addr(), funcs{open: func(*conn.Conn) error {
			caught <- true
			<-open
			return nil
		}})
		require.NoError(t, err)
		conntest.Receive(t, caught)
		stopped := make(chan error, 1)
		go func() { stopped <- f.Stop(t.Context()) }()
		conntest.Eventually(t, f.Stopping)
		_, err = f.Dial(ln.Addr(), funcs{})
		requireOpError(t, err, "dial", net.ErrClosed)
		_, err = f.Listen(ln, funcs{})
		requireOpError(t, err, "listen", net.ErrClosed)
		_, err = f.ListenSocket(conn.SocketListenerConfig{}, ln)
		requireOpError(t, err, "listen", net.ErrClosed)
		close(open)
		require.NoError(t, conntest.Receive(t, stopped))
	})
}
