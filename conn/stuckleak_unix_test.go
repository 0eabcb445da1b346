//go:build unix

package conn_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Stop beside a Close that waits for a stuck worker leaves the descriptor to that worker,
// which must not be stopped before it has closed it.
func TestAStopDuringAListenersCloseLeavesNoDescriptor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 1})
		require.NoError(t, err)
		f := &fixture{Group: g, t: t, audit: &audit{}}
		l := f.listen("tcp", "127.0.0.1:0", funcs{})
		f.rounds(2)
		release := f.stick(0)
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		conntest.Eventually(t, l.Closing)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, g.Stop(over), conn.ErrStuck)
		require.NoError(t, conntest.Receive(t, closed))
		left := inode(t, l.FD())
		require.NotZero(t, left, "the worker's own socket holds the number")
		release()
		conntest.Receive(t, g.Runtime().Done())
		conntest.Eventually(t, func() bool { return inode(t, l.FD()) != left }, "the descriptor is open")
	})
}

func TestCloseOfAGroupClosesItsListeners(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 1})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		l, err := g.Listen(ln, funcs{})
		require.NoError(t, err)
		held := inode(t, l.FD())
		require.NotZero(t, held)
		require.NoError(t, g.Close())
		require.NotEqual(t, held, inode(t, l.FD()))
		require.ErrorIs(t, l.Close(), net.ErrClosed)
	})
}

// inode says which socket has a descriptor; 0: it is closed.
func inode(t *testing.T, fd int) uint64 {
	t.Helper()
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err != nil {
		require.ErrorIs(t, err, unix.EBADF)
		return 0
	}
	return uint64(st.Ino)
}
