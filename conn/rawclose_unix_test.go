//go:build unix

package conn_test

import (
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The function of a RawConn has a duplicate of the descriptor. Before, a close sent nothing until
// that function had returned.
func TestADuplicateOfTheDescriptorDelaysNoEnd(t *testing.T) {
	ends := map[string]struct {
		end  func(t *testing.T, peer net.Conn, s *conn.Socket)
		seen error
	}{
		"FIN": {func(t *testing.T, peer net.Conn, s *conn.Socket) { // the last one: close sends it
			require.NoError(t, peer.(*net.TCPConn).CloseWrite())
			_, err := s.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, s.Close())
		}, io.EOF},
		"RST": {func(t *testing.T, _ net.Conn, s *conn.Socket) {
			require.NoError(t, s.SetLinger(0))
			require.NoError(t, s.Close())
		}, syscall.ECONNRESET},
	}
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		for name, e := range ends {
			peer, err := dial(l.Addr())
			require.NoError(t, err)
			a, err := l.Accept()
			require.NoError(t, err)
			s := a.(*conn.Socket)
			has, release, returned := make(chan uintptr, 1), make(chan struct{}), make(chan error, 1)
			go func() {
				raw, err := s.SyscallConn()
				if err == nil {
					err = raw.Control(func(fd uintptr) {
						has <- fd
						<-release
					})
				}
				returned <- err
			}()
			conntest.Receive(t, has)
			e.end(t, peer, s)
			require.NoError(t, peer.SetReadDeadline(time.Now().Add(conntest.Patience)))
			if e.seen == syscall.ECONNRESET && runtime.GOOS != "linux" {
				close(release) // a reset is the last close's there
			}
			_, err = peer.Read(make([]byte, 1))
			require.ErrorIs(t, err, e.seen, name)
			if e.seen != syscall.ECONNRESET || runtime.GOOS == "linux" {
				close(release)
			}
			require.NoError(t, conntest.Receive(t, returned))
			require.NoError(t, peer.Close())
		}
	})
}
