package conn_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Whichever worker the accept is on, and the connection.
func TestAListenerAndAConnectionCloseWhileAWorkerIsStuck(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers = 2
		for stuck := range workers {
			closed, tell := ends(1)
			f := newFixture(t, backend, workers)
			l := f.listen("tcp", "127.0.0.1:0", funcs{data: echo, close: tell})
			c := f.dial()
			write(t, c, "x")
			read(t, c, 1)
			release := f.stick(stuck)
			ended := make(chan error, 1)
			go func() { ended <- l.Close() }()
			require.NoError(t, conntest.Receive(t, ended))
			f.Abort()
			require.Error(t, conntest.Receive(t, closed))
			release()
		}
	})
}

// Connections and other workers have no part in that.
func TestAStuckListenersErrorNamesItsWorkerAlone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := f.ListenOn(0, ln, f.audit.of(funcs{data: echo}))
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		f.addr = l.Addr()
		c := f.dial()
		write(t, c, "x")
		read(t, c, 1)
		release := f.stickAll(2)
		conntest.Eventually(t, func() bool { return strings.Contains(l.StuckError().Error(), "worker 0") })
		require.NotContains(t, l.StuckError().Error(), "worker 1")
		require.NotContains(t, l.StuckError().Error(), "connection")
		require.ErrorIs(t, l.StuckError(), conn.ErrStuck)
		release()
		require.NoError(t, l.Close())
	})
}
