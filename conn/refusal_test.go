package conn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// Calls that a Stream's connection does not support are errors, by a Handle too, and the Stream
// goes on.
func TestAStreamsConnectionRefusesWhatItCannotDo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		begun := make(chan conn.Handle, 1)
		f.listenTo(conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
			begun <- s.Handle()
			return echoStream(cx, s)
		}))
		c := f.dial()
		errs := make(chan error, 3)
		require.NoError(t, conntest.Receive(t, begun).Do(func(c *conn.Conn) {
			errs <- c.SetHandler(funcs{})
			errs <- c.SetReadDeadline(time.Now().Add(time.Hour))
			errs <- c.SetDeadline(time.Now().Add(time.Hour))
		}))
		for range 3 {
			requireOpError(t, conntest.Receive(t, errs), "set", errors.ErrUnsupported)
		}
		write(t, c, "hello")
		require.Equal(t, "hello", string(read(t, c, 5)))
	})
}
