package uring

import (
	"net"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
)

// listen returns a listening TCP socket on loopback and its address.
func listen(t *testing.T) (fd int, addr *unix.SockaddrInet4) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 128))
	sa, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return fd, sa.(*unix.SockaddrInet4)
}

func dial(t *testing.T, addr *unix.SockaddrInet4) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", (&net.TCPAddr{IP: addr.Addr[:], Port: addr.Port}).String(), patience.Limit)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSendAndReceive(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_STREAM)
	in, out := offHeap(t, 64), []byte("over the waterway")
	prepare(t, r, 1, func(s *SQE) { s.PrepRecvInto(a, in, 0) })
	prepare(t, r, 2, func(s *SQE) { s.PrepSend(b, out, unix.MSG_NOSIGNAL) })
	got := reapByData(t, r, 2)
	require.EqualValues(t, len(out), got[1].Res)
	require.EqualValues(t, len(out), got[2].Res)
	require.Equal(t, out, in[:len(out)])

	prepare(t, r, 3, func(s *SQE) { s.PrepShutdown(b, unix.SHUT_WR) })
	require.Zero(t, reap(t, r, 1)[0].Res)
	prepare(t, r, 4, func(s *SQE) { s.PrepRead(a, in, 0) })
	require.Zero(t, reap(t, r, 1)[0].Res, "end of stream")
	prepare(t, r, 5, func(s *SQE) { s.PrepSend(b, out, unix.MSG_NOSIGNAL) })
	require.Equal(t, failed(unix.EPIPE), reap(t, r, 1)[0].Res)
}

func TestMessages(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_DGRAM)
	var send, recv unix.Msghdr
	parts := [][]byte{[]byte("two "), []byte("parts")}
	iov := make([]unix.Iovec, len(parts))
	for i, p := range parts {
		iov[i].Base = &p[0]
		iov[i].SetLen(len(p))
	}
	send.Iov = &iov[0]
	send.SetIovlen(len(iov))
	in := offHeap(t, 64)
	riov := unix.Iovec{Base: &in[0]}
	riov.SetLen(len(in))
	recv.Iov = &riov
	recv.SetIovlen(1)

	prepare(t, r, 1, func(s *SQE) { s.PrepRecvMsg(a, &recv, 0) })
	prepare(t, r, 2, func(s *SQE) { s.PrepSendMsg(b, &send, 0) })
	got := reapByData(t, r, 2)
	require.EqualValues(t, 9, got[1].Res)
	require.EqualValues(t, 9, got[2].Res)
	require.Equal(t, "two parts", string(in[:9]))
}

func TestMultishotAccept(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	l, addr := listen(t)
	prepare(t, r, 1, func(s *SQE) { s.PrepAccept(l, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, true) })
	submit(t, r)
	for range 5 {
		c := dial(t, addr)
		got := reap(t, r, 1)[0]
		if got.Res == failed(unix.EINVAL) {
			t.Skip("this kernel lacks multishot accept")
		}
		require.Positive(t, got.Res)
		require.True(t, got.More())
		fl, err := unix.FcntlInt(uintptr(got.Res), unix.F_GETFL, 0)
		require.NoError(t, err)
		require.NotZero(t, fl&unix.O_NONBLOCK)

		prepare(t, r, 2, func(s *SQE) { s.PrepClose(int(got.Res)) })
		require.Equal(t, CQE{UserData: 2}, reap(t, r, 1)[0])
		_, err = c.Read(make([]byte, 1))
		require.Error(t, err, "the accepted end is closed")
	}
	prepare(t, r, 3, func(s *SQE) { s.PrepCancelFD(l, IORING_ASYNC_CANCEL_ALL) })
	got := reapByData(t, r, 2)
	require.EqualValues(t, 1, got[3].Res, "one request canceled")
	require.Equal(t, failed(unix.ECANCELED), got[1].Res)
	cqe := got[1]
	require.False(t, cqe.More())
}

func TestSingleAcceptEndsAfterOne(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	l, addr := listen(t)
	prepare(t, r, 1, func(s *SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC, false) })
	submit(t, r)
	dial(t, addr)
	got := reap(t, r, 1)[0]
	require.Positive(t, got.Res)
	require.False(t, got.More())
	require.NoError(t, unix.Close(int(got.Res)))
	dial(t, addr)
	requireQuiet(t, r)
}

func TestConnect(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	l, addr := listen(t)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	sa := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: addr.Addr}
	port := (*[2]byte)(unsafe.Pointer(&sa.Port)) // network order
	port[0], port[1] = byte(addr.Port>>8), byte(addr.Port)

	prepare(t, r, 1, func(s *SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC, false) })
	prepare(t, r, 2, func(s *SQE) { s.PrepConnect(fd, unsafe.Pointer(sa), unix.SizeofSockaddrInet4) })
	got := reapByData(t, r, 2)
	require.Zero(t, got[2].Res)
	require.Positive(t, got[1].Res)
	require.NoError(t, unix.Close(int(got[1].Res)))
}

func TestCancelByUserData(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, _ := socketpair(t, unix.SOCK_STREAM)
	buf := offHeap(t, 8)
	const target = 1<<63 | 5
	prepare(t, r, target, func(s *SQE) { s.PrepRecvInto(a, buf, 0) })
	submit(t, r)
	prepare(t, r, 2, func(s *SQE) { s.PrepCancel(target, 0) })
	got := reapByData(t, r, 2)
	require.Zero(t, got[2].Res)
	require.Equal(t, failed(unix.ECANCELED), got[target].Res)

	prepare(t, r, 3, func(s *SQE) { s.PrepCancel(target, 0) })
	require.Equal(t, failed(unix.ENOENT), reap(t, r, 1)[0].Res)
}

func TestClose(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	var fds [2]int
	require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
	prepare(t, r, 1, func(s *SQE) { s.PrepClose(fds[1]) })
	require.Zero(t, reap(t, r, 1)[0].Res)
	n, err := unix.Read(fds[0], make([]byte, 1))
	require.NoError(t, err)
	require.Zero(t, n, "the other end of the pipe is closed")
	require.NoError(t, unix.Close(fds[0]))

	prepare(t, r, 2, func(s *SQE) { s.PrepClose(-1) })
	require.Equal(t, failed(unix.EBADF), reap(t, r, 1)[0].Res)
}

// An eventfd read is how a reactor is woken.
func TestReadEventfd(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	buf := offHeap(t, 8)
	for i := range uint64(3) {
		prepare(t, r, i, func(s *SQE) { s.PrepRead(fd, buf, 0) })
		submit(t, r)
		require.Zero(t, r.CQReady())
		_, err = unix.Write(fd, []byte{1, 1, 1, 1, 1, 1, 1, 1})
		require.NoError(t, err)
		require.Equal(t, CQE{UserData: i, Res: 8}, reap(t, r, 1)[0])
	}
}

func TestPoll(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	a, b := socketpair(t, unix.SOCK_STREAM)
	prepare(t, r, 1, func(s *SQE) { s.PrepPollAdd(a, unix.POLLIN|unix.POLLRDHUP, true) })
	submit(t, r)
	for range 3 {
		_, err := unix.Write(b, []byte("x"))
		require.NoError(t, err)
		got := reap(t, r, 1)[0]
		require.EqualValues(t, unix.POLLIN, got.Res)
		require.True(t, got.More())
	}
	prepare(t, r, 3, func(s *SQE) { s.PrepPollUpdate(1, unix.POLLIN|unix.POLLRDHUP|unix.POLLOUT) })
	var updated, state int
	for _, c := range reap(t, r, 2) { // the state is told anew
		if c.UserData == 3 {
			require.Zero(t, c.Res)
			updated++
		} else {
			require.EqualValues(t, unix.POLLIN|unix.POLLOUT, c.Res)
			require.True(t, c.More())
			state++
		}
	}
	require.Equal(t, []int{1, 1}, []int{updated, state})
	prepare(t, r, 4, func(s *SQE) { s.PrepPollUpdate(99, unix.POLLIN) })
	require.Equal(t, CQE{UserData: 4, Res: failed(unix.ENOENT)}, reap(t, r, 1)[0])
	prepare(t, r, 2, func(s *SQE) { s.PrepPollAdd(b, unix.POLLOUT, false) })
	got := reap(t, r, 1)[0]
	require.EqualValues(t, unix.POLLOUT, got.Res)
	require.False(t, got.More())
	require.NoError(t, unix.Shutdown(b, unix.SHUT_WR))
	got = reap(t, r, 1)[0]
	require.EqualValues(t, unix.POLLIN|unix.POLLRDHUP|unix.POLLOUT, got.Res, "POLLRDHUP is above the mask's 16 old bits on no system")
}

func TestMsgRing(t *testing.T) {
	from, to := newTestRing(t, Params{Entries: 8}), newTestRing(t, Params{Entries: 8})
	const data = 0xfedcba9876543210
	prepare(t, from, 1, func(s *SQE) { s.PrepMsgRing(to.FD(), 42, data) })
	got := reap(t, from, 1)[0]
	if got.Res == failed(unix.EINVAL) {
		t.Skip("this kernel lacks MSG_RING")
	}
	require.Equal(t, CQE{UserData: 1}, got)
	require.Equal(t, CQE{UserData: data, Res: 42}, reap(t, to, 1)[0])
}

func TestTimeoutRequest(t *testing.T) {
	r := newTestRing(t, Params{Entries: 8})
	prepare(t, r, 1, func(s *SQE) { s.PrepTimeout(&Timespec{Nsec: int64(time.Millisecond)}, 0, 0) })
	require.Equal(t, CQE{UserData: 1, Res: failed(unix.ETIME)}, reap(t, r, 1)[0])

	prepare(t, r, 2, func(s *SQE) { s.PrepTimeout(&Timespec{Sec: 1 << 40}, 1, 0) })
	submit(t, r)
	prepare(t, r, 3, (*SQE).PrepNop)
	got := reapByData(t, r, 2)
	require.Zero(t, got[2].Res, "ended by the completion that it counted")
}
