package server_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestAUnixPathHasTheModeThatWasAskedFor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, mode := range []os.FileMode{0o600, 0o660, 0o666} {
			path := filepath.Join(t.TempDir(), "socket")
			s := run(t, &server.Server{Handler: echo{}, Backend: backend, Network: "unix", Addr: path, UnixMode: mode})
			info, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm())
			roundTrip(t, s.dial(), "hello")
		}
	})
}

func TestAnAbstractNameNeedsNoPath(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		name := "@suiro-test-" + filepath.Base(t.TempDir()) + "-" + backend + "-" + time.Now().Format("150405.000000000")
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, Network: "unix", Addr: name})
		require.Equal(t, name, s.addr.String())
		roundTrip(t, s.dial(), "hello")
		require.NoFileExists(t, name)
	})
}

func TestListeningSocketsHaveTheOptionsThatWereAskedFor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		get := func(s *server.Server, level, name int) (v int) {
			s.Control = func(_, _ string, c syscall.RawConn) error {
				return c.Control(func(fd uintptr) { v, _ = unix.GetsockoptInt(int(fd), level, name) })
			}
			s.Handler, s.Backend = echo{}, backend
			roundTrip(t, run(t, s).dial(), "hello")
			return v
		}
		require.Equal(t, 1, get(&server.Server{}, unix.SOL_SOCKET, unix.SO_KEEPALIVE))
		require.Equal(t, 15, get(&server.Server{}, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE))
		require.Equal(t, 60, get(&server.Server{KeepAlive: time.Minute}, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL))
		require.Equal(t, 0, get(&server.Server{KeepAlive: -1}, unix.SOL_SOCKET, unix.SO_KEEPALIVE))
		require.Equal(t, 2*65536, get(&server.Server{ReadBuffer: 65536}, unix.SOL_SOCKET, unix.SO_RCVBUF), "the kernel doubles it")
		require.Equal(t, 2*65536, get(&server.Server{WriteBuffer: 65536}, unix.SOL_SOCKET, unix.SO_SNDBUF))
		require.Equal(t, 16, get(&server.Server{FastOpen: 16}, unix.IPPROTO_TCP, unix.TCP_FASTOPEN))
		require.Equal(t, 7, get(&server.Server{DeferAccept: 5 * time.Second}, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT), "steps of 1, 3, 7 s")
	})
}

// Without DeferAccept the first, silent client would have been accepted before the second one,
// which was served.
func TestADeferredConnectionIsAcceptedWithItsFirstBytes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, DeferAccept: time.Hour})
		silent, talker := s.dial(), s.dial()
		roundTrip(t, talker, "hello")
		require.Equal(t, 1, s.Group().Len())
		roundTrip(t, silent, "hello, too")
		require.Equal(t, 2, s.Group().Len())
	})
}

func TestADeferredConnectionThatStaysSilentIsAcceptedInTheEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: greeter{}, Backend: backend, DeferAccept: time.Second})
		text, err := io.ReadAll(io.LimitReader(s.dial(), int64(len(greeting))))
		require.NoError(t, err)
		require.Equal(t, greeting, string(text))
	})
}

const greeting = "220 who are you?"

// A greeter speaks first.
type greeter struct{ echo }

func (greeter) OnOpen(c *server.Conn) error {
	_, err := io.WriteString(c, greeting)
	return err
}

func TestReusePortHasEachWorkerListen(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers = 4
		inodes := map[int]bool{}
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, Workers: workers, ReusePort: true,
			Control: func(_, _ string, c syscall.RawConn) error {
				return c.Control(func(fd uintptr) { inodes[int(fd)] = true })
			}})
		require.Len(t, inodes, workers)
		for range 100 { // whichever socket the kernel takes
			roundTrip(t, s.dial(), "hello")
		}
		require.NoError(t, s.Shutdown(t.Context()))
		_, err := net.Dial("tcp", s.addr.String())
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "none of them is left")
	})
}
