package server_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/server"
)

// The filter is a real one, so each profile has a process. Its servers choose their backend.
func TestServersUnderASeccompProfile(t *testing.T) {
	for _, profile := range conntest.Profiles {
		t.Run(profile.Name, func(t *testing.T) {
			conntest.InChild(t, nil, func(t *testing.T) {
				t.Setenv(reactor.EnvBackend, "")
				if err := profile.Forbid(); err != nil {
					t.Skipf("no seccomp filter can be set here: %v", err)
				}
				for _, call := range []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
					_, _, errno := unix.Syscall(call, 1, 0, 0)
					require.Equal(t, profile.Errno, errno, "the filter has no effect")
				}
				conntest.Guard(t)
				serveWithoutURing(t)

				err := (&server.Server{Handler: echo{}, Addr: "127.0.0.1:0", Backend: "io_uring"}).ListenAndServe()
				requireAdvice(t, err, "use the epoll backend (SUIRO_BACKEND=epoll)")
				require.ErrorIs(t, err, profile.Errno)
				standard := map[unix.Errno]error{unix.EPERM: fs.ErrPermission, unix.ENOSYS: errors.ErrUnsupported}
				require.ErrorIs(t, err, standard[profile.Errno])
			})
		})
	}
}

// serveWithoutURing serves what uses io_uring, where that starts, and HTTP.
func serveWithoutURing(t *testing.T) {
	t.Helper()
	tcp := run(t, &server.Server{Handler: echo{}})
	require.Equal(t, "epoll", tcp.Group().Backend())
	require.Equal(t, 1, tcp.log.Count("reactor: fell back backend=epoll"), "%s", tcp.log)
	for range 3 {
		c := tcp.dial()
		roundTrip(t, c, "hello")
		roundTrip(t, c, string(bytes.Repeat([]byte("0123456789"), 10_000)))
	}
	udp := run(t, &server.Server{Packets: packetEcho{}, Network: "udp"})
	require.Equal(t, "epoll", udp.Group().Backend())
	roundTrip(t, udp.dial(), "hello")

	content := bytes.Repeat([]byte("content "), 1<<18)
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	web := run(t, &server.Server{Handler: server.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, path)
	}))})
	require.Equal(t, "epoll", web.Group().Backend())
	client := &http.Client{Timeout: conntest.Patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 3 {
		answer, err := client.Get("http://" + web.addr.String())
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.True(t, bytes.Equal(content, body))
	}
}
