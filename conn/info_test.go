package conn_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// OnClose can log how much has passed.
func TestInfoHasTheFiguresOfAConnectionUntilItsEnd(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		during, last := make(chan conn.Info, 1), make(chan conn.Info, 1)
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			_, err := c.Write(append(p, " back"...))
			return err
		}, close: func(c *conn.Conn, _ error) { last <- c.Info() }})
		c := f.dial()
		write(t, c, "hello")
		require.Equal(t, "hello back", string(read(t, c, 10)))
		for i := range f.Connections() {
			again, open := i.Handle.Info()
			require.True(t, open)
			require.Equal(t, i.Began, again.Began)
			during <- again
		}
		before := conntest.Receive(t, during)
		require.EqualValues(t, 5, before.Received)
		require.NoError(t, c.Close())
		i := conntest.Receive(t, last)
		require.EqualValues(t, []uint64{5, 10}, []uint64{i.Received, i.Sent})
		require.Zero(t, i.Unsent)
		require.Equal(t, before.Began, i.Began)
		require.Equal(t, before.Handler, i.Handler)
		require.Equal(t, c.LocalAddr().String(), i.RemoteAddr.String())
		conntest.Eventually(t, func() bool { _, open := before.Handle.Info(); return !open })
	})
}

func TestInfoOfAStream(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		infos := make(chan conn.Info, 1)
		f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
			if _, err := io.CopyN(s, s, 5); err != nil {
				return err
			}
			_, _ = s.Peek(1) // the peer's end
			infos <- s.Info()
			return nil
		})
		c := f.dial()
		write(t, c, "hello")
		require.Equal(t, "hello", string(read(t, c, 5)))
		require.NoError(t, c.Close())
		i := conntest.Receive(t, infos)
		require.EqualValues(t, []uint64{5, 5}, []uint64{i.Received, i.Sent})
		require.Zero(t, conn.NewStream().Info())
	})
}
