package conn_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

var errRefused = errors.New("no such command")

// refuses returns an error from OnData.
type refuses struct{ conn.Base }

func (refuses) OnData(*conn.Conn) error { return errRefused }

// refuseStream returns the same from sequential code.
func refuseStream(_ *sched.Context, s *conn.Stream) error {
	_, _ = s.Read(make([]byte, 1))
	return errRefused
}

// refuseBeside returns it from a function that nobody joins.
func refuseBeside(cx *sched.Context, s *conn.Stream) error {
	_, _ = s.Read(make([]byte, 1))
	s.Go(func(*sched.Context) error { return errRefused })
	_, _ = s.Read(make([]byte, 1))
	return nil
}

func atDebug(cfg *conn.Config) { cfg.Logger = slog.New(&conntest.Log{Level: slog.LevelDebug}) }

func logOf(f *fixture) *conntest.Log { return f.Logger().Handler().(*conntest.Log) }

func TestHandlersErrorsAreLoggedAndCounted(t *testing.T) {
	const said = "DEBUG conn: handler returned an error"
	refuse := func(*conn.Conn) error { return errRefused }
	for name, c := range map[string]struct {
		h     conn.Handler
		named string
	}{
		"OnData":     {refuses{}, "handler=conn_test.refuses "},
		"OnOpen":     {funcs{open: refuse}, "handler=conn_test.funcs "},
		"OnEOF":      {funcs{eof: refuse}, "handler=conn_test.funcs "},
		"closing":    {funcs{data: func(c *conn.Conn) error { _ = c.Close(); return errRefused }}, "handler=conn_test.funcs "},
		"Sequential": {conn.Sequential(refuseStream), "/conn_test.refuseStream "},
		"Stream.Go":  {conn.Sequential(refuseBeside), "handler=a function of Stream.Go "},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				f := newFixture(t, backend, 2, atDebug)
				f.listenTo(c.h)
				client := f.dial()
				_, _ = client.Write([]byte("x")) // it may have been refused by now
				_ = client.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, client)
				log := logOf(f)
				conntest.Eventually(t, func() bool { return log.Count(said) == 1 }, log)
				requireFailures(t, 1, 0, f.Stats())
				require.Contains(t, log.String(), "remote="+client.LocalAddr().String())
				require.Contains(t, log.String(), "error="+errRefused.Error())
				require.Contains(t, log.String(), c.named)
			})
		})
	}
}

// panicLater panics after a wait.
func panicLater(_ *sched.Context, s *conn.Stream) error {
	_, _ = s.Read(make([]byte, 1))
	panic("oh")
}

func panicBeside(_ *sched.Context, s *conn.Stream) error {
	s.Go(func(cx *sched.Context) error { return panicLater(cx, s) })
	return nil
}

func TestAPanicIsLoggedWithTheNameOfItsFunction(t *testing.T) {
	for named, h := range map[string]conn.Handler{
		"/conn_test.panicLater ":          conn.Sequential(panicLater),
		"handler=a function of Stream.Go": conn.Sequential(panicBeside),
	} {
		conntest.Backends(t, func(t *testing.T, backend string) {
			f := newFixture(t, backend, 1)
			f.listenTo(h)
			write(t, f.dial(), "x")
			conntest.Eventually(t, func() bool { return logOf(f).Count("handler panicked") == 1 }, logOf(f))
			require.Contains(t, logOf(f).String(), named)
		})
	}
}

// The end of a connection that its handler did not cause is no handler error.
func TestOtherEndsAreNotHandlersErrors(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, atDebug, func(cfg *conn.Config) {
			cfg.MaxRead, cfg.LingerTimeout = 10, 50*time.Millisecond
		})
		closed := make(chan error, 4)
		ends := func(_ *conn.Conn, err error) { closed <- err }
		dialed := func(h conn.Handler) *net.TCPConn {
			f.listen("tcp", "127.0.0.1:0", h)
			return f.dial().(*net.TCPConn)
		}
		write(t, dialed(funcs{data: func(*conn.Conn) error { return nil }, close: ends}), "more than MaxRead")
		require.ErrorIs(t, conntest.Receive(t, closed), conn.ErrReadBufferFull)
		dialed(funcs{open: func(c *conn.Conn) error { return c.SetIdleTimeout(20 * time.Millisecond) }, close: ends})
		require.Error(t, conntest.Receive(t, closed))
		write(t, dialed(funcs{data: func(c *conn.Conn) error { _ = c.Close(); return c.Close() }, close: ends}), "x")
		conntest.Receive(t, closed)
		requireFailures(t, 0, 0, f.Stats(), logOf(f))
		write(t, dialed(funcs{data: func(*conn.Conn) error { panic("oh") }, close: ends}), "x")
		require.Error(t, conntest.Receive(t, closed))
		requireFailures(t, 0, 1, f.Stats())
	})
}

// requireFailures compares the counts of what handlers did wrong. Slow runs are not the handler's.
func requireFailures(t *testing.T, failed, panicked uint64, got conn.Stats, msg ...any) {
	t.Helper()
	require.Equal(t, [2]uint64{failed, panicked}, [2]uint64{got.HandlerErrors, got.HandlerPanics}, msg...)
}
