package conn_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Linux passes up to 253 files with one message. With SO_PASSCRED the sender's credentials need
// room beside them.
func TestAsManyFilesAsLinuxPassesAreReceived(t *testing.T) {
	const most = 253
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		require.NoError(t, err)
		defer ln.Close()
		for _, credentials := range []bool{false, true} {
			s, err := f.DialUnix(t.Context(), conn.UnixDialConfig{
				Addr: ln.Addr().(*net.UnixAddr),
				Control: func(_, _ string, c syscall.RawConn) (err error) {
					if credentials {
						failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
						require.NoError(t, failed)
					}
					return err
				},
			})
			require.NoError(t, err)
			peer, err := ln.Accept()
			require.NoError(t, err)
			defer peer.Close()
			require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
			sendFiles(t, peer.(*net.UnixConn), "many", slices.Repeat([]*os.File{tempFile(t, "x")}, most)...)
			p := make([]byte, 10)
			n, received, err := s.RecvFiles(t.Context(), p)
			for _, file := range received {
				require.NoError(t, file.Close())
			}
			require.NoError(t, err)
			require.Equal(t, "many", string(p[:n]))
			require.Len(t, received, most)
			require.NoError(t, s.Close())
		}
	})
}
