package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
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

// logged is the line that log writes into a logger, without its time.
func logged(t *testing.T, log func(l *slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	log(server.LineLogger(&out))
	stamp, text, found := strings.Cut(out.String(), " ")
	require.True(t, found, out.String())
	_, err := time.Parse(time.RFC3339, stamp)
	require.NoError(t, err)
	return text
}

// Attributes that are named as slog's own are attributes as any other, wherever they stand.
func TestTheDefaultLoggerKeepsAttributesOfAnyName(t *testing.T) {
	require.Equal(t, "WARN w level=7 msg=\"\" time=noon source=s\n", logged(t, func(l *slog.Logger) {
		l.Warn("w", "level", 7, "msg", "", "time", "noon", "source", "s")
	}))
	require.Equal(t, "ERROR w level=WARN msg=m level=INFO\n", logged(t, func(l *slog.Logger) {
		l.With("level", slog.LevelWarn, "msg", "m").Error("w", "level", slog.LevelInfo)
	}))
}

func TestTheDefaultLoggerEndsLinesWithoutASpace(t *testing.T) {
	require.Equal(t, "WARN alone\n", logged(t, func(l *slog.Logger) { l.Warn("alone") }))
	require.Equal(t, "ERROR+1 alone\n", logged(t, func(l *slog.Logger) { l.Log(context.Background(), slog.LevelError+1, "alone") }))
	require.Equal(t, "ERROR panicked\nmain.main()\n", logged(t, func(l *slog.Logger) { l.Error("panicked", "stack", "main.main()\n\n") }))
}

func TestTheDefaultLoggerNamesAttributesByTheirGroups(t *testing.T) {
	require.Equal(t, "WARN w a=1 g.b=2 g.h.c=3 g.h.level=4\n", logged(t, func(l *slog.Logger) {
		l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").Warn("w", "c", 3, "level", 4)
	}))
	require.Equal(t, "WARN w\n", logged(t, func(l *slog.Logger) { l.WithGroup("g").Warn("w") }))
}

// Two loggers that come from one do not have each other's attributes.
func TestTheDefaultLoggersOfOneAreIndependent(t *testing.T) {
	one := func(l *slog.Logger) (*slog.Logger, *slog.Logger) {
		l = l.With("a", 1).With("b", 2).WithGroup("g") // room to append to, if it is not clipped
		return l.With("c", 3), l.With("d", 4)
	}
	require.Equal(t, "WARN w a=1 b=2 g.c=3\n", logged(t, func(l *slog.Logger) { first, _ := one(l); first.Warn("w") }))
	require.Equal(t, "WARN w a=1 b=2 g.d=4\n", logged(t, func(l *slog.Logger) { _, second := one(l); second.Warn("w") }))
}

// A record without a time has none in its line.
func TestTheDefaultLoggerWritesNoTimeThatARecordLacks(t *testing.T) {
	var out bytes.Buffer
	record := slog.NewRecord(time.Time{}, slog.LevelWarn, "w", 0)
	require.NoError(t, server.LineLogger(&out).Handler().Handle(context.Background(), record))
	require.Equal(t, "WARN w\n", out.String())
}

// A program may set os.Stderr and os.Stdout while a server logs: the logger has the standard error
// that there was when it was made, and does not look at the variables again.
func TestTheDefaultLoggerKeepsItsStandardError(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stderr = w
	log := server.DefaultLogger()
	os.Stdout, os.Stderr = nil, nil
	log.With("a", 1).Warn("w")
	os.Stdout, os.Stderr = stdout, stderr
	require.NoError(t, w.Close())
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(text), " WARN w a=1\n"), "%q", text)
}
