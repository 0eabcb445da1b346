package conn_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A lineLog collects lines of any goroutine.
type lineLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lineLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(l.text.String(), "\n")
}

// A debugged answers each byte with one, and fails at a "!".
type debugged struct{ conn.Base }

func (debugged) OnData(c *conn.Conn) error {
	if p, _ := c.Peek(1); string(p) == "!" {
		return io.ErrUnexpectedEOF
	}
	_, err := c.WriteTo(c)
	return err
}

// debugOf serves one connection of a handler, with SUIRO_DEBUG set, and returns the log's lines.
func debugOf(t *testing.T, backend, areas string) []string {
	t.Helper()
	t.Setenv("SUIRO_DEBUG", areas)
	log := new(lineLog)
	cfg := conn.Config{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	cfg.Reactor.Backend = backend
	g, err := conn.NewGroup(cfg, sched.Config{Workers: 2, SlowTask: -1})
	require.NoError(t, err)
	ln := conntest.Listen(t)
	l, err := g.Listen(ln, debugged{})
	require.NoError(t, err)
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "x")
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	require.NoError(t, err)
	_, err = io.WriteString(c, "!")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, c)
	require.NoError(t, err)
	_ = c.Close()
	require.NoError(t, l.Close())
	require.NoError(t, g.Wait(t.Context()))
	require.NoError(t, g.Close())
	return log.lines()
}

// with lists the lines that have all of the words.
func with(lines []string, words ...string) (found []string) {
line:
	for _, line := range lines {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue line
			}
		}
		found = append(found, line)
	}
	return found
}

func TestDebugLinesOfConnections(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lines := debugOf(t, backend, "conn")
		for _, words := range [][]string{
			{`"conn: open"`, "dialed=false", "handler=conn_test.debugged", "remote=127.0.0.1:"},
			{`"conn: OnData returned an error"`, `error="unexpected EOF"`},
			{`"conn: close"`, `error="unexpected EOF"`},
		} {
			require.Len(t, with(lines, words...), 1, "%q", words)
		}
		require.Len(t, with(lines, `"conn: data"`, "unread=1"), 2)
		require.Empty(t, with(lines, `"io: `))
		require.Empty(t, with(lines, `"sched: `))
	})
}

func TestDebugLinesOfReactors(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lines := debugOf(t, backend, "io")
		require.NotEmpty(t, with(lines, `"io: submit"`, "op=accept"))
		require.NotEmpty(t, with(lines, `"io: submit"`, "op=recv"))
		require.NotEmpty(t, with(lines, `"io: completion"`, "op=accept", "reactor="))
		require.NotEmpty(t, with(lines, `"io: completion"`, "op=recv", "res=")) // one byte, or both
		require.Empty(t, with(lines, `"conn: open"`))
	})
}

func TestDebugLinesOfWorkers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lines := debugOf(t, backend, "sched,conn")
		require.NotEmpty(t, with(lines, `"sched: run"`, "handler=conn_test.debugged", "remote=127.0.0.1:"))
		require.NotEmpty(t, with(lines, `"sched: run end"`, "task=0x"))
		require.NotEmpty(t, with(lines, `"sched: park"`, "worker="))
		require.NotEmpty(t, with(lines, `"sched: poll"`, "n="))
		require.Len(t, with(lines, `"conn: open"`), 1)
	})
}

func TestWithoutTheVariableThereAreNoDebugLines(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lines := debugOf(t, backend, "")
		require.Empty(t, with(lines, `"io: `))
		require.Empty(t, with(lines, `"sched: `))
		require.Empty(t, with(lines, `"conn: open"`))
	})
}

func TestAnUnknownWordIsAWarning(t *testing.T) {
	lines := debugOf(t, "", "tasks")
	require.Len(t, with(lines, "level=WARN", "SUIRO_DEBUG", "word=tasks"), 1)
}
