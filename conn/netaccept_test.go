package conn_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// acceptForms are the calls that wait for a connection, each on the calling goroutine.
func acceptForms(f *fixture, l *conn.SocketListener) map[string]func(context.Context) (*conn.Socket, error) {
	return map[string]func(context.Context) (*conn.Socket, error){
		"AcceptContext": l.AcceptContext,
		"AcceptFuture": func(ctx context.Context) (*conn.Socket, error) {
			return sched.Block(ctx, f.Runtime(), l.AcceptFuture())
		},
		"AcceptFuture of a task": func(ctx context.Context) (*conn.Socket, error) {
			task := sched.Go(f.Runtime(), func(cx *sched.Context) (*conn.Socket, error) {
				return sched.Await(cx, l.AcceptFuture())
			})
			s, err := task.Wait(ctx)
			if ctx.Err() != nil {
				task.Abort()
			}
			return s, err
		},
	}
}

// come dials, and waits until nobody but TryAccept or a later call can take the connection.
func (f *fixture) come(l *conn.SocketListener) net.Conn {
	f.t.Helper()
	had := l.Arrived()
	c := f.dial()
	conntest.Eventually(f.t, func() bool { return l.Arrived() == had+1 })
	return c
}

func TestEachFormOfAcceptTakesAConnection(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		_, err := l.TryAccept()
		require.ErrorIs(t, err, conn.ErrNoneArrived)
		check := func(c net.Conn, s *conn.Socket) {
			write(t, s, "welcome")
			require.Equal(t, "welcome", string(read(t, c, 7)))
			require.NoError(t, s.Close())
			require.NoError(t, c.Close())
		}
		c := f.come(l)
		s, err := l.TryAccept()
		require.NoError(t, err)
		check(c, s)
		for name, accept := range acceptForms(f, l) {
			t.Log(name)
			c := f.come(l) // it is there before the call
			s, err := accept(t.Context())
			require.NoError(t, err)
			check(c, s)

			got := make(chan *conn.Socket, 1)
			go func() {
				s, _ := accept(t.Context())
				got <- s
			}()
			conntest.Eventually(t, func() bool { return l.Waiting() == 1 })
			c = f.dial() // it comes after the call
			s = conntest.Receive(t, got)
			require.NotNil(t, s)
			check(c, s)
		}
	})
}

func TestEachFormOfAcceptEndsWithItsContextAndWithTheListener(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := l.AcceptContext(ended)
		requireOpError(t, err, "accept", context.Canceled)
		forms := acceptForms(f, l)
		errs := make(chan error, len(forms))
		for name, accept := range forms {
			t.Log(name)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _, err := accept(ctx); errs <- err }()
			conntest.Eventually(t, func() bool { return l.Waiting() == 1 })
			cancel()
			require.ErrorIs(t, conntest.Receive(t, errs), context.Canceled)
			conntest.Eventually(t, func() bool { return l.Waiting() == 0 })
		}
		for _, accept := range forms {
			go func() { _, err := accept(t.Context()); errs <- err }()
		}
		conntest.Eventually(t, func() bool { return l.Waiting() == len(forms) })
		require.NoError(t, l.Close())
		for range forms {
			requireOpError(t, conntest.Receive(t, errs), "accept", net.ErrClosed)
		}
		_, err = l.TryAccept()
		requireOpError(t, err, "accept", net.ErrClosed)
	})
}

// A call that an arrival has woken, and that gives up before it has looked, wakes the next.
func TestAnAcceptThatGivesUpOnceWokenWakesTheNext(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		first := l.AcceptFuture()
		polled := false
		idle := sched.Spawn(f.Runtime(), sched.FutureFunc[bool](func(cx *sched.Context) (bool, error) {
			if !polled {
				polled = true
				_, err := first.Poll(cx)
				return false, err
			}
			return true, nil // it was woken, and does not look
		}))
		conntest.Eventually(t, func() bool { return l.Waiting() == 1 })
		got := make(chan error, 1)
		go func() {
			s, err := l.AcceptContext(t.Context())
			if err == nil {
				err = s.Close()
			}
			got <- err
		}()
		conntest.Eventually(t, func() bool { return l.Waiting() == 2 })
		c := f.dial()
		defer c.Close()
		woken, err := idle.Wait(t.Context())
		require.NoError(t, err)
		require.True(t, woken)
		require.Equal(t, 1, l.Waiting())
		require.Equal(t, 1, l.Arrived())
		first.(sched.Canceler).Cancel()
		require.NoError(t, conntest.Receive(t, got))
	})
}
