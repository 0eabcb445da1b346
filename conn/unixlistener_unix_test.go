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
	testPanicsOfAUnixListener(t, "in Accepted", "at the end", "in Accepted", "at the end")
}

func TestANilPanicOfAUnixListenersFunctionEndsNothingElse(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	testPanicsOfAUnixListener(t, nil, "at the end", "called with nil", "at the end")
	testPanicsOfAUnixListener(t, "in Accepted", nil, "in Accepted", "called with nil")
}

// testPanicsOfAUnixListener has Accepted panic with a value once, and the functions that it returns
// with another one. The log says the texts for them.
func testPanicsOfAUnixListener(t *testing.T, accepting, ending any, first, later string) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		addr := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"}
		ln, err := net.ListenUnix("unix", addr)
		require.NoError(t, err)
		defer ln.Close()
		calls := 0
		l, err := f.ListenUnix(conn.UnixListenerConfig{Accepted: func(*conn.UnixStream) func() {
			if calls++; calls == 1 {
				panic(accepting)
			}
			return func() { panic(ending) }
		}}, ln)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		refused, err := dial(addr)
		require.NoError(t, err)
		defer refused.Close()
		_, err = refused.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		for range 2 {
			c, err := dial(addr)
			require.NoError(t, err)
			defer c.Close()
			s, err := l.Accept(ctx)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
		conntest.Eventually(t, func() bool { return f.log.Count(later) == 2 }) // logged after it is counted
		require.Equal(t, 1, f.log.Count(first))
		require.EqualValues(t, 3, f.Stats().HandlerPanics)
		require.NoError(t, l.Close())
	})
}
