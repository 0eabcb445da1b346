package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Calls made on a socket while it connects take effect when it has connected.
func TestASocketIsHalfClosedBeforeItIsOpen(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		eof := make(chan struct{}, 1)
		f := serve(t, backend, workers, funcs{eof: func(c *conn.Conn) error {
			eof <- struct{}{}
			return c.Close()
		}})
		s := conn.NewSocket()
		require.NoError(t, s.CloseWrite())
		_, err := f.Dial(f.addr, s.Handler())
		require.NoError(t, err)
		require.NoError(t, s.WaitOpen(t.Context()))
		conntest.Receive(t, eof)
		require.NoError(t, s.Close())
	})
}
