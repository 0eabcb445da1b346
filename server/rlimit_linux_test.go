package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/server"
)

// Linux 6.18 counts the memory of rings against the limit on lockable memory, unless the user has
// CAP_IPC_LOCK. 64 KiB is enough for the small ring of the probe, and 512 KiB for three workers.
func TestServersWithLittleLockableMemory(t *testing.T) {
	for _, limit := range []uint64{0, 64 << 10, 512 << 10} {
		t.Run(fmt.Sprint(limit>>10, " KiB"), func(t *testing.T) {
			conntest.InChild(t, nil, func(t *testing.T) {
				conntest.LockAtMost(t, limit)
				t.Setenv(reactor.EnvBackend, "")
				conntest.Guard(t)
				const workers = 8
				forced := &server.Server{Handler: echo{}, Backend: "io_uring", Workers: workers}
				ln, err := forced.Listen("tcp", "127.0.0.1:0")
				backend := "io_uring"
				if err == nil {
					t.Log("this kernel does not count rings")
					require.NoError(t, ln.Close())
					require.NoError(t, forced.Close())
				} else {
					backend = "epoll"
					require.NotContains(t, err.Error(), "\n")
					require.ErrorContains(t, err, "ulimit -l")
					require.ErrorContains(t, err, "SUIRO_BACKEND=epoll")
					require.ErrorIs(t, err, syscall.ENOMEM)
				}
				s := run(t, &server.Server{Handler: echo{}, Workers: workers})
				require.Equal(t, backend, s.Group().Backend())
				if backend == "epoll" {
					require.Equal(t, 1, s.log.Count("reactor: fell back backend=epoll"), "%s", s.log)
					require.Equal(t, 1, s.log.Count("ulimit -l"), "%s", s.log)
				}
				for range 3 {
					roundTrip(t, s.dial(), "hello")
				}
			})
		})
	}
}

// Each server has few descriptors, and for a while none to spare.
func TestServersWithFewDescriptors(t *testing.T) {
	for _, backend := range reactor.Backends() {
		t.Run(backend, func(t *testing.T) {
			conntest.InChild(t, nil, func(t *testing.T) {
				if _, err := reactor.Select(reactor.Config{Backend: backend}, nil); err != nil {
					t.Skipf("%s cannot start here: %v", backend, err)
				}
				conntest.Guard(t)
				require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}))
				for name, h := range map[string]server.Handler{
					"echo": echo{},
					"HTTP": server.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") })),
				} {
					t.Run(name, func(t *testing.T) { serveWithFewDescriptors(t, backend, h) })
				}
			})
		})
	}
}

func serveWithFewDescriptors(t *testing.T, backend string, h server.Handler) {
	conntest.Guard(t)
	s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 2})
	const request, answer = "GET / HTTP/1.0\r\n\r\n", "hello"
	exchange := func(c io.ReadWriter) {
		t.Helper()
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
		for got := ""; ; {
			p := make([]byte, 512)
			n, err := c.Read(p)
			if got += string(p[:n]); len(got) >= len(request) && (got == request || got[len(got)-len(answer):] == answer) {
				return
			}
			require.NoError(t, err, "%q", got)
		}
	}
	c := s.dial()
	exchange(c)
	require.NoError(t, c.Close())
	patience := unix.NsecToTimeval(conntest.Patience.Nanoseconds())
	clients := make([]*os.File, 5) // sockets, since none can be opened later
	for i := range clients {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience))
		clients[i] = os.NewFile(uintptr(fd), "client")
		defer clients[i].Close()
	}
	port := s.addr.(*net.TCPAddr).Port
	restore := conntest.NoDescriptors(t)
	for _, c := range clients {
		require.NoError(t, unix.Connect(int(c.Fd()), &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	}
	conntest.Eventually(t, func() bool {
		return s.log.Count("too many open files; raise the limit on open files (ulimit -n)") > 0
	}, "the log says what to do")
	restore()
	for _, c := range clients {
		exchange(c)
	}
}
