//go:build unix

package conn_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A panic of Accepted closes that connection alone. A panic of the function that it returned
// changes nothing. The listener goes on after both.
func TestAPanicOfAUnixListenersFunctionEndsNothingElse(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		addr := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"}
		ln, err := net.ListenUnix("unix", addr)
		require.NoError(t, err)
		defer ln.Close()
		calls := 0
		l, err := f.ListenUnix(conn.UnixListenerConfig{Accepted: func(*conn.UnixStream) func() {
			if calls++; calls == 1 {
				panic("in Accepted")
			}
			return func() { panic("at the end") }
		}}, ln)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		first, err := dial(addr)
		require.NoError(t, err)
		defer first.Close()
		_, err = first.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		for range 2 {
			c, err := dial(addr)
			require.NoError(t, err)
			defer c.Close()
			s, err := l.Accept(ctx)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
		conntest.Eventually(t, func() bool { return f.log.Count("at the end") == 2 }) // logged after it is counted
		require.Equal(t, 1, f.log.Count("in Accepted"))
		require.EqualValues(t, 3, f.Stats().HandlerPanics)
		require.NoError(t, l.Close())
	})
}
