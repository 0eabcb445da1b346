package server_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// More files than the process may open are an error, and none of them leaks.
func TestFilesThatAreCutOffAreClosed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		s, path := &server.Server{Backend: backend, Workers: 1}, filepath.Join(t.TempDir(), "s")
		l, err := s.ListenUnix(path)
		require.NoError(t, err)
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer c.Close()
		u, err := l.Accept(patience(t))
		require.NoError(t, err)
		fds, spare := make([]int, 20), make([]int, 10)
		for i := range fds {
			fds[i] = int(textFile(t, "x").Fd())
		}
		for i := range spare {
			spare[i], err = unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
			require.NoError(t, err)
		}
		_, _, err = c.(*net.UnixConn).WriteMsgUnix([]byte("x"), unix.UnixRights(fds...), nil)
		require.NoError(t, err)
		before := len(conntest.Descriptors())
		restore := conntest.NoDescriptors(t)
		for _, fd := range spare {
			require.NoError(t, unix.Close(fd))
		}
		n, files, err := u.RecvFiles(patience(t), make([]byte, 10))
		restore()
		require.ErrorIs(t, err, server.ErrFilesLost)
		require.Equal(t, 1, n)
		require.Empty(t, files)
		require.Less(t, len(conntest.Descriptors()), before)
		require.NoError(t, s.Close())
	})
}
