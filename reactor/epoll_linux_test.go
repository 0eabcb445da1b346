package reactor

import (
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
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

// The socket's events go on under a number that is somebody else's by now. To believe one costs no
// more than a read in vain, which no other test sees.
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

// A Poll receives no more bytes than stay in the cache for handlers. Descriptors that were not
// served come before those that were: none of them starves.
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

// A Poll serves a bounded number of descriptors, so that their handlers find them in the cache. The
// others are served without another wait. Descriptors that always have more data delay a wake-up
// only for a short time.
func TestEpollServesABoundedNumberAndThenTheOthers(t *testing.T) {
	r := newTestEpoll(t)
	const sockets = 3*maxServed + 7
	for i := range sockets {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		_, err = unix.Write(pair[1], []byte{1})
		require.NoError(t, err)
		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: pair[0], Token: MakeToken(uint32(i), 1)}))
	}
	require.NoError(t, r.Wake())
	seen := map[uint32]bool{}
	out := make([]Completion, 256)
	for polls := 0; len(seen) < sockets; polls++ {
		require.Less(t, polls, 2*sockets, "some are not served")
		n, err := r.Poll(out, -1, false)
		require.NoError(t, err)
		require.LessOrEqual(t, n, maxServed)
		for _, c := range out[:n] {
			require.Equal(t, 1, c.Res)
			require.False(t, seen[c.Token.Index()])
			seen[c.Token.Index()] = true
			r.Release(c.Buf)
		}
	}
	require.NoError(t, r.Wake())
	for waits := 0; ; waits++ { // reads in vain first: short reads of Unix sockets say nothing
		require.Less(t, waits, 2*maxPolls+2, "the wake-up was not noticed")
		n, err := r.Poll(out, 0, false)
		require.NoError(t, err)
		require.Zero(t, n)
		if !r.poller.(*epoll).waker.set.Load() {
			break
		}
	}
}

// The kernel's read fails with EAGAIN at the urgent mark if a signal is pending, as those of Go's
// scheduler are. No edge comes then for the bytes behind the mark.
func TestEpollReadsOnAtAnUrgentMark(t *testing.T) {
	r := newTestEpoll(t)
	r.kernel = kernel{&injector{plan: faults.New(1, faults.Rule{Call: faults.Recv, Errno: unix.EAGAIN, Every: 2})}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer peer.Close()
	accepted, err := l.Accept()
	require.NoError(t, err)
	file, err := accepted.(*net.TCPConn).File()
	require.NoError(t, err)
	require.NoError(t, accepted.Close())
	defer file.Close()
	fd := int(file.Fd())
	require.NoError(t, unix.SetNonblock(fd, true))

	_, err = peer.Write([]byte("before"))
	require.NoError(t, err)
	raw, err := peer.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var urgent error
	require.NoError(t, raw.Control(func(fd uintptr) { urgent = unix.Sendto(int(fd), []byte{'!'}, unix.MSG_OOB, nil) }))
	require.NoError(t, urgent)
	_, err = peer.Write([]byte("after"))
	require.NoError(t, err)

	require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, TCP: true, Token: 1}))
	out := make([]Completion, 8)
	var got string
	for polls := 0; len(got) < len("beforeafter"); polls++ {
		require.Less(t, polls, 20, "%q came, and no more", got)
		n, err := r.Poll(out, 50*time.Millisecond, false)
		require.NoError(t, err)
		for _, c := range out[:n] {
			got += string(c.Buf.Bytes)
			r.Release(c.Buf)
		}
	}
	require.Equal(t, "beforeafter", got)
}
