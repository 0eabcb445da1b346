package conn_test

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// dialAll connects n clients, and returns a count of the server's sockets for them.
func dialAll(t *testing.T, addr net.Addr, n int) (held func() int) {
	t.Helper()
	before := sockets()
	for range n {
		c, err := dial(addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
	}
	return func() int { return sockets() - before - n }
}

func TestWaitingConnectionsTakeNoDescriptors(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const most = 10
		f := serve(t, backend, workers, funcs{data: discard}, func(cfg *conn.Config) { cfg.MaxConns, cfg.Overflow = most, conn.OverflowWait })
		f.rounds(1)
		held := dialAll(t, f.addr, 300)
		conntest.Eventually(t, func() bool { return f.audit.opened.Load() == most })
		f.rounds(20)
		require.LessOrEqual(t, held(), most+2)
		require.EqualValues(t, most, f.audit.opened.Load())
	})
}

func TestABacklogBoundsDescriptors(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const backlog = 16
		f := newFixture(t, backend, workers)
		l := f.open("tcp", conn.SocketListenerConfig{Backlog: backlog})
		f.rounds(1)
		release := f.stickAll(workers) // so that all clients wait in the backlog
		held := dialAll(t, l.Addr(), 400)
		release()
		conntest.Eventually(t, func() bool { return f.Len() >= backlog })
		f.rounds(20)
		require.Less(t, held(), 400/2, "the backlog is %d", backlog)
		for range 400 { // none is lost
			s, err := l.Accept()
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
	})
}

// The backlog is full and so is the server. With the backlog taken, the next client is refused.
func TestAFullServerRefusesAfterItsBacklogWasFull(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const most = 4
		f := newFixture(t, backend, workers, func(cfg *conn.Config) { cfg.MaxConns = most })
		l := f.open("tcp", conn.SocketListenerConfig{Backlog: most})
		dialAll(t, l.Addr(), most)
		conntest.Eventually(t, func() bool { return f.Len() == most })
		for range most {
			s, err := l.Accept()
			require.NoError(t, err)
			defer s.Close()
		}
		c, err := dial(l.Addr())
		if err == nil { // else the reset came before the dial had ended
			defer c.Close()
			_, err = io.ReadAll(c)
		}
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}
