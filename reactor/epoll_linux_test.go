package reactor

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func newTestEpoll(t *testing.T) *epoll {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cfg, err := Select(Config{Backend: "epoll"}, nil)
	require.NoError(t, err)
	r, err := Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r.(*epoll)
}

// The socket's events go on under a number that is somebody else's by now. To believe one costs no more than
// a read in vain, which no other test sees.
func TestEpollVoidsStaleEventsAndPlacesInLine(t *testing.T) {
	r := newTestEpoll(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[1])
	fd := pair[0]
	recv := func() { require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: 1})) }
	recv()
	former := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLHUP, Fd: int32(fd), Pad: int32(r.table.get(fd).seq)}
	r.edge(&former)
	require.Len(t, r.ready, 1)

	require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd}))
	next, err := unix.Dup(pair[1])
	require.NoError(t, err)
	require.Equal(t, fd, next)
	defer unix.Close(next)
	require.NoError(t, unix.SetNonblock(next, true))
	recv()
	f := r.table.get(fd)
	r.edge(&former)
	require.False(t, f.in || f.out || f.ahead || f.queued, "an event of the former socket was believed: %+v", f)

	f.in = true // so that serving it would show
	require.Zero(t, r.serve(make([]Completion, 4), 0))
	require.True(t, f.in, "a place in line of the former socket was taken")
}
