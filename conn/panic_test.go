package conn_test

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

func TestAPanicEndsItsConnectionAndNoOther(t *testing.T) {
	testThatAHandlerFails(t, func(*conn.Conn) error { panic(fmt.Errorf("boom: %w", errTest)) }, []string{"panicked", "boom"}, func(t *testing.T, err error) {
		var p *conn.PanicError
		require.ErrorAs(t, err, &p)
		require.ErrorIs(t, err, errTest, "the panic's value is an error")
		require.Contains(t, string(p.Stack), "panic_test.go", "the stack says where")
		require.False(t, strings.Contains(err.Error(), "\n"))
	})
}

// With GODEBUG=panicnil=1 recover returns nil for panic(nil), as it does after runtime.Goexit.
func TestANilPanicEndsItsConnectionAndNoOther(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	nothing := func(*conn.Conn) error { panic(nil) }
	testThatAHandlerFails(t, nothing, []string{"panicked"}, func(t *testing.T, err error) {
		require.ErrorAs(t, err, new(*conn.PanicError))
		require.ErrorAs(t, err, new(*runtime.PanicNilError))
	})
}

func TestAnExitEndsItsConnectionAndNoOther(t *testing.T) {
	exit := func(*conn.Conn) error { runtime.Goexit(); return nil }
	testThatAHandlerFails(t, exit, []string{"called runtime.Goexit"}, func(t *testing.T, err error) {
		require.ErrorIs(t, err, sched.ErrGoexit)
	})
}

// testThatAHandlerFails tests a handler each of whose methods fails. check looks at the error of
// the connection, and the log says each of logged once.
func testThatAHandlerFails(t *testing.T, boom func(*conn.Conn) error, logged []string, check func(t *testing.T, err error)) {
	places := map[string]funcs{
		"OnOpen":     {open: boom},
		"OnData":     {data: boom},
		"OnEOF":      {eof: boom},
		"OnDeadline": {deadline: boom, data: func(c *conn.Conn) error { return c.SetReadDeadline(c.Now()) }},
		"OnDrain":    {drain: func(c *conn.Conn) { _ = boom(c) }},
		"OnClose":    {},
		"Do": {data: func(c *conn.Conn) error {
			return c.Handle().Do(func(c *conn.Conn) { _ = boom(c) })
		}},
		"NotifySent": {data: func(c *conn.Conn) error { c.NotifySent(func(error) { _ = boom(c) }); return nil }},
		"NotifySent on Abort": {data: func(c *conn.Conn) error {
			c.NotifySent(func(error) { _ = boom(c) })
			_, _ = c.Write(make([]byte, 1<<20))
			c.Abort()
			return nil
		}},
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for place, h := range places {
			t.Run(place, func(t *testing.T) {
				closed := make(chan error, 1)
				h.close = func(c *conn.Conn, err error) {
					closed <- err
					if place == "OnClose" {
						_ = boom(c)
					}
				}
				f := newFixture(t, backend, 1) // the bystander shares the worker
				f.listen("tcp", "127.0.0.1:0", funcs{data: echo, drain: func(*conn.Conn) {}})
				bystander := f.dial()
				write(t, bystander, "before")
				require.Equal(t, "before", string(read(t, bystander, 6)))
				f.listen("tcp", "127.0.0.1:0", h)
				if c, err := dial(f.addr); err == nil {
					defer c.Close()
					switch place {
					case "OnEOF", "OnClose":
						_ = c.(*net.TCPConn).CloseWrite()
					case "OnDrain":
						conntest.Eventually(t, func() bool { return f.audit.opened.Load() == 2 })
						f.Drain()
					default:
						_, _ = c.Write([]byte("x"))
					}
				}
				err := conntest.Receive(t, closed)
				switch place {
				case "OnClose":
					require.NoError(t, err)
				case "NotifySent on Abort":
					require.ErrorIs(t, err, net.ErrClosed)
				default:
					check(t, err)
				}
				for _, what := range logged {
					conntest.Eventually(t, func() bool { return f.log.Count(what) == 1 })
				}
				conntest.Eventually(t, func() bool { return f.Len() == 1 })
				write(t, bystander, "after")
				require.Equal(t, "after", string(read(t, bystander, 5)))
			})
		}
	})
}

func TestAPanicThatIsNoErrorUnwrapsToNothing(t *testing.T) {
	require.NoError(t, errors.Unwrap(&conn.PanicError{Value: 7}))
	require.Equal(t, "sched: task panicked: 7", (&conn.PanicError{Value: 7}).Error())
}

func TestAPanicWithTheEndOfTheStreamRightBehindEndsTheConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := serve(t, backend, 1, funcs{data: func(*conn.Conn) error { panic("no") }, close: tell})
		c := f.dial()
		conntest.Eventually(t, func() bool { return f.Len() == 1 })
		release := f.stick(0) // so that both come at once
		write(t, c, "x")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		release()
		var p *conn.PanicError
		require.ErrorAs(t, conntest.Receive(t, closed), &p)
	})
}

// exits is a handler whose OnClose ends the goroutine.
type exits struct{ conn.Handler }

func (exits) OnClose(*conn.Conn, error) { runtime.Goexit() }

func TestAnExitInOnCloseEndsAConnectionWhateverServesIt(t *testing.T) {
	lend := func(c *conn.Conn) error { c.Lend(); return nil }
	origin := conntest.Listen(t)
	splice := func(c *conn.Conn) error {
		h, err := c.Group().Dial(origin.Addr(), exits{funcs{}})
		if err == nil {
			_, err = conn.Splice(c, h, nil)
		}
		return err
	}
	handlers := map[string]conn.Handler{
		"a handshake": conn.ServeTLS(conn.TLSConfig{}, exits{funcs{}}),
		"a Socket":    exits{funcs{open: lend}},
		"a splice":    exits{funcs{data: splice}},
		"a Stream":    exits{conn.Sequential(func(*sched.Context, *conn.Stream) error { return nil })},
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, h := range handlers {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, backend, 1)
				f.listenTo(h)
				c := f.dial()
				write(t, c, "x")
				require.NoError(t, c.(*net.TCPConn).SetLinger(0))
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return f.log.Count("called runtime.Goexit") > 0 && f.Len() == 0 })
			})
		}
	})
}
