package conn_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// While the process stands still no handler can return. The time of that does not count: a handler
// that returns right after it is not stuck.
func TestTheTimeOfAStoppedProcessMakesNoHandlerStuck(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range map[string]func(*conn.Group, *conn.Listener) error{
			"Close of a group":    func(g *conn.Group, _ *conn.Listener) error { return g.Close() },
			"Stop":                func(g *conn.Group, _ *conn.Listener) error { return g.Stop(ended) },
			"Close of a listener": func(_ *conn.Group, l *conn.Listener) error { return l.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, backend, 1)
				l := f.listen("tcp", "127.0.0.1:0", funcs{data: echo})
				release := f.stick(0)
				closed := make(chan error, 1)
				standStill(t, func() { go func() { closed <- end(f.Group, l) }() })
				release()
				require.NoError(t, conntest.Receive(t, closed))
			})
		}
	})
}

// standStill calls begin, and at once stops this process for longer than Close waits for handlers.
// The shell runs before that and after it, because its start and its end may take long.
func standStill(t *testing.T, begin func()) {
	t.Helper()
	me := os.Getpid()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("echo up; read go; kill -STOP %d; sleep 1.2; kill -CONT %d; echo on", me, me))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	said := make([]byte, 3)
	_, err = io.ReadFull(out, said)
	require.NoError(t, err)
	begin()
	_, err = in.Write([]byte("go\n"))
	require.NoError(t, err)
	_, err = io.ReadFull(out, said)
	require.NoError(t, err)
	require.Equal(t, "on\n", string(said))
}
