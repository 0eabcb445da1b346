package sock

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The error of the reset has been taken from the socket, as by a call that moved some bytes first.
func TestASpliceAfterAResetReportsTheReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer dialed.Close()
	peer, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, peer.(*net.TCPConn).SetLinger(0))
	require.NoError(t, peer.Close())
	_, err = dialed.Read(make([]byte, 1)) // takes the error
	require.ErrorIs(t, err, unix.ECONNRESET)

	file, err := dialed.(*net.TCPConn).File()
	require.NoError(t, err)
	defer file.Close()
	p, err := newPipe(64 << 10)
	require.NoError(t, err)
	defer Close(p.R)
	defer Close(p.W)
	_, err = unix.Write(p.W, []byte("bytes"))
	require.NoError(t, err)
	_, errno := Splice(p.R, int(file.Fd()), 5)
	require.Equal(t, unix.ECONNRESET, errno)

	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("bytes"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	_, errno = Sendfile(int(file.Fd()), int(f.Fd()), 0, 5)
	require.Equal(t, unix.ECONNRESET, errno)
}
