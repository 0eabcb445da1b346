package conn_test

import (
	"crypto/tls"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The error of the end is known after OnClose, though another handler has got it.
func TestALifeHasTheErrorWhicheverHandlerGotIt(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		lives := make(chan [2]conn.Life, 1)
		second := funcs{data: func(*conn.Conn) error { return io.ErrNoProgress }}
		before := time.Now()
		f := newFixture(t, backend, workers)
		f.listen("tcp", "127.0.0.1:0", funcs{
			open: func(c *conn.Conn) error {
				first := c.Life()
				c.NotifyClose(func() { lives <- [2]conn.Life{first, c.Life()} })
				return nil
			},
			data: func(c *conn.Conn) error { return c.SetHandler(f.audit.of(second)) },
		})
		c := f.dial()
		write(t, c, "hello")
		require.NoError(t, c.Close())
		both := conntest.Receive(t, lives)
		require.NoError(t, both[0].Err)
		require.Equal(t, io.ErrNoProgress, both[1].Err)
		require.WithinRange(t, both[0].Began, before, time.Now())
		require.True(t, both[0].Began.Equal(both[1].Began))
		require.False(t, both[0].Dialed)
		require.Zero(t, both[1].Handshake)
		require.Nil(t, both[1].TLS)
	})
}

func TestALifeTellsHowAHandshakeHasEnded(t *testing.T) {
	s, other := newSecret(t), newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		lives := make(chan conn.Life, 1)
		f := covered(t, backend, workers, s.server, funcs{data: echo, close: func(c *conn.Conn, _ error) { lives <- c.Life() }})
		c := f.dialTLS(s.client)
		write(t, c, "hello")
		require.Equal(t, "hello", string(read(t, c, 5)))
		require.NoError(t, c.Close())
		good := conntest.Receive(t, lives)
		require.True(t, good.TLS.HandshakeComplete)
		require.Empty(t, good.Failure)
		require.False(t, good.Handshake.Before(good.Began))

		stranger := s.client.Clone()
		stranger.RootCAs = other.pool
		raw := f.dial()
		require.Error(t, tls.Client(raw, stranger).Handshake())
		bad := conntest.Receive(t, lives) // before the Close, whose reset could overtake the alert
		require.NoError(t, raw.Close())
		require.Equal(t, "alert", bad.Failure)
		require.Error(t, bad.Err)
		require.False(t, bad.TLS.HandshakeComplete)
		require.Equal(t, stranger.ServerName, bad.TLS.ServerName)
		require.False(t, bad.Handshake.IsZero())
	})
}
