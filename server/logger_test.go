package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/server"
)

func TestTheDefaultLoggerWritesPlainLines(t *testing.T) {
	var out bytes.Buffer
	log := server.LineLogger(&out).With("local", &net.UnixAddr{Name: "/run/s", Net: "unix"})
	log.Info("not a warning")
	require.Empty(t, out.String())
	log.Warn("conn: accept failed, trying again", "addr", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80},
		"in", 5*time.Millisecond, "error", errors.New("too many"), slog.Group("peer", "addr", "[::1]:9"))
	line := out.String()
	require.Equal(t, 1, strings.Count(line, "\n"), line)
	stamp, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	_, err := time.Parse(time.RFC3339, stamp)
	require.NoError(t, err)
	require.Equal(t, `WARN conn: accept failed, trying again local=/run/s addr=127.0.0.1:80 in=5ms error="too many" peer.addr=[::1]:9`, text)

	out.Reset()
	log.Error("conn: handler panicked", "panic", "oh", "stack", "goroutine 1 [running]:\nmain.main()\n")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	require.True(t, strings.HasSuffix(lines[0], "ERROR conn: handler panicked local=/run/s panic=oh"), lines[0])
	require.Equal(t, []string{"goroutine 1 [running]:", "main.main()"}, lines[1:])
}

// Groups of attributes are flattened, and their attributes are text as well.
func TestTheDefaultLoggerWritesGroupsAsText(t *testing.T) {
	var out bytes.Buffer
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	group := slog.Group("peer", "addr", addr, slog.Group("since", "last", time.Second))
	server.LineLogger(&out).With(group).Warn("w", slog.Group("g", "addr", addr), "error", &net.OpError{Op: "read", Addr: addr, Err: net.ErrClosed})
	_, text, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	require.Equal(t, `WARN w peer.addr=127.0.0.1:80 peer.since.last=1s g.addr=127.0.0.1:80 `+
		`error="read 127.0.0.1:80: use of closed network connection"`, text)
}
