package reactor

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func newTestEpoll(t *testing.T) *readiness {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cfg, err := Select(Config{Backend: "epoll"}, nil)
	require.NoError(t, err)
	r, err := Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r.(*readiness)
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
	tell := func() {
		p := r.poller.(*epoll)
		p.events[0] = former
		p.tell(r, 1, false)
	}
	tell()
	require.Len(t, r.ready, 1)

	require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd}))
	next, err := unix.Dup(pair[1])
	require.NoError(t, err)
	require.Equal(t, fd, next)
	defer unix.Close(next)
	require.NoError(t, unix.SetNonblock(next, true))
	recv()
	f := r.table.get(fd)
	tell()
	require.False(t, f.in || f.out || f.ahead || f.line&inReady != 0, "an event of the former socket was believed: %+v", f)

	f.in = true // so that serving it would show
	require.Zero(t, r.serve(make([]Completion, 4), 0))
	require.True(t, f.in, "a place in line of the former socket was taken")
}

// A Poll receives no more than handlers can have from the cache, and who had no turn comes before those that had
// one: none of them waits for ever.
func TestEpollReceivesABoundedAmountFromAllInTurn(t *testing.T) {
	r := newTestEpoll(t)
	const sockets, each = 12, 512 << 10
	var peers []int
	for i := range sockets {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: pair[0], Token: MakeToken(uint32(i), 1)}))
		peers = append(peers, pair[1])
	}
	junk := make([]byte, 64<<10)
	fill := func() { // all of them always have more than is taken
		for _, fd := range peers {
			for {
				if _, errno := (kernel{}).send(fd, junk); errno != 0 {
					break
				}
			}
		}
	}
	var got [sockets]int
	out := make([]Completion, 256)
	for sum := 0; sum < sockets*each; {
		fill()
		n, err := r.Poll(out, 0, false)
		require.NoError(t, err)
		now := 0
		for _, c := range out[:n] {
			require.Positive(t, c.Res)
			now += c.Res
			got[c.Token.Index()] += c.Res
			r.Release(c.Buf)
		}
		require.LessOrEqual(t, now, maxReceive+r.cfg.BufferSize)
		sum += now
	}
	least, most := slices.Min(got[:]), slices.Max(got[:])
	require.Less(t, most, 2*least, "%d", got)
}
