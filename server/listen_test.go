package server_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// stale leaves a socket behind at a path, as a program does that is killed.
func stale(t *testing.T, path string) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, ln.Close())
	_, err = os.Lstat(path)
	require.NoError(t, err)
}

func TestAStaleUnixPathIsCleanedAndOthersAreNot(t *testing.T) {
	conntest.Need(t, "unix")
	conntest.Backends(t, func(t *testing.T, backend string) {
		path := filepath.Join(t.TempDir(), "socket")
		stale(t, path)
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, Network: "unix", Addr: path})
		roundTrip(t, s.dial(), "hello")

		second := &server.Server{Handler: echo{}, Backend: backend, Network: "unix", Addr: path}
		err := second.ListenAndServe()
		requireAdvice(t, err, "stop that or choose another address")
		require.ErrorIs(t, conn.Portable(err), syscall.EADDRINUSE, "it is not stale")
		roundTrip(t, s.dial(), "still there")

		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
		third := &server.Server{Handler: echo{}, Backend: backend, Network: "unix", Addr: file}
		require.ErrorIs(t, third.ListenAndServe(), syscall.EADDRINUSE)
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "precious", string(kept))
	})
}

func TestAnErrorOfControlIsTheServersError(t *testing.T) {
	conntest.Guard(t)
	s := &server.Server{Handler: echo{}, Addr: "127.0.0.1:0", Control: func(string, string, syscall.RawConn) error { return errControl }}
	require.ErrorIs(t, s.ListenAndServe(), errControl)
}

var errControl = syscall.ENOTSUP
