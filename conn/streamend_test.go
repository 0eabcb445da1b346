package conn_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A function that has not begun to run when its Awaits are to fail still sees the error. One case
// is a child whose parent does not wait after Go. The other one is the function of a connection
// that is aborted before.
func TestWhatBeginsTooLateIsCanceled(t *testing.T) {
	forever := func(cx *sched.Context) error { return sleep(cx, time.Hour) }
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		told := make(chan error, 10)
		keep := func(err error) error { told <- err; return err }
		for name, h := range map[string]conn.Handler{
			"a child": conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
				s.Go(func(cx *sched.Context) error { return keep(forever(cx)) })
				return nil
			}),
			"a function": abortsAtOnce{conn.Sequential(func(cx *sched.Context, _ *conn.Stream) error {
				return keep(forever(cx))
			})},
			"a child of a function that goes on": abortsAtOnce{conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
				_ = forever(cx)
				b := s.Go(func(cx *sched.Context) error { return keep(forever(cx)) })
				return b.Join(cx)
			})},
		} {
			t.Run(name, func(t *testing.T) {
				f := serve(t, backend, workers, h)
				c, err := dial(f.addr)
				require.ErrorIs(t, conntest.Receive(t, told), sched.ErrCanceled)
				if err == nil { // else it was reset before it knew that it was there
					require.NoError(t, c.Close())
				}
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

// abortsAtOnce ends connections before the handler within has run.
type abortsAtOnce struct{ conn.Handler }

func (h abortsAtOnce) OnOpen(c *conn.Conn) error {
	err := h.Handler.OnOpen(c)
	c.Abort()
	return err
}

// Bytes that come after a Handle's Close are dropped, so a stream must not take the end for the
// peer's: it would take a cut message for a whole one.
func TestAStreamIsNotToldOfAnEndAfterItsHandlesClose(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		told := make(chan error, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			if err := s.Handle().Close(); err != nil {
				return err
			}
			if err := sleep(cx, 20*time.Millisecond); err != nil { // the bytes and the end come meanwhile
				return err
			}
			for {
				if _, err := s.Read(make([]byte, 10)); err != nil {
					told <- err
					return nil
				}
			}
		})
		c := f.dial()
		require.Empty(t, readEOF(t, c))
		write(t, c, "too late")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		err := conntest.Receive(t, told)
		requireOpError(t, err, "read", net.ErrClosed)
	})
}
