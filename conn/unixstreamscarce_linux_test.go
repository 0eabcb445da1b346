package conn_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Without descriptors to spare the kernel cuts off the control message. The bytes are received, and
// the loss is an error.
func TestFilesThatTheProcessCannotOpenAreLost(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s, c := unixStreams(t, f)
		file := tempFile(t, "x")
		sendFiles(t, c, "lost", file, file)
		p := make([]byte, 10)
		restore := conntest.NoDescriptors(t)
		n, files, err := s.TryRecvFiles(p)
		restore()
		require.ErrorIs(t, err, conn.ErrFilesLost)
		require.ErrorIs(t, err, syscall.EMFILE)
		require.Empty(t, files)
		require.Equal(t, "lost", string(p[:n]))
		sendFiles(t, c, "next", file)
		n, files, err = s.TryRecvFiles(p)
		require.NoError(t, err)
		require.Equal(t, "next", string(p[:n]))
		require.Len(t, files, 1)
		require.NoError(t, files[0].Close())
	})
}
