//go:build kqueue

package kevent

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
)

func newQueue(t *testing.T) *Queue {
	t.Helper()
	q, err := New()
	require.NoError(t, err)
	t.Cleanup(q.Close)
	return q
}

func change(ident int, filter, flags int) Event {
	return Event{Ident: uint64(ident), Filter: int16(filter), Flags: uint16(flags)}
}

func apply(t *testing.T, q *Queue, changes ...Event) {
	t.Helper()
	n, errno := q.Kevent(changes, nil, nil)
	require.Zero(t, errno)
	require.Zero(t, n)
}

// now returns the events that can be taken without waiting.
func now(t *testing.T, q *Queue) []Event {
	t.Helper()
	return take(t, q, &unix.Timespec{})
}

// soon waits for events.
func soon(t *testing.T, q *Queue) []Event {
	t.Helper()
	got := take(t, q, &unix.Timespec{Sec: int64(patience.Limit / time.Second)})
	require.NotEmpty(t, got, "nothing happened")
	return got
}

func take(t *testing.T, q *Queue, limit *unix.Timespec) []Event {
	t.Helper()
	events := make([]Event, 8)
	for {
		n, errno := q.Kevent(nil, events, limit)
		if errno == unix.EINTR {
			continue
		}
		require.Zero(t, errno)
		return events[:n]
	}
}

func socketpair(t *testing.T) (int, int) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(p[0]); _ = unix.Close(p[1]) })
	return p[0], p[1]
}

func put(t *testing.T, fd int, s string) {
	t.Helper()
	n, err := unix.Write(fd, []byte(s))
	require.NoError(t, err)
	require.Equal(t, len(s), n)
}

func get(t *testing.T, fd, n int) string {
	t.Helper()
	p := make([]byte, n)
	n, err := unix.Read(fd, p)
	require.NoError(t, err)
	return string(p[:n])
}

func TestWithoutClearAnEventComesForAsLongAsItIsTrue(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	apply(t, q, change(a, EVFILT_READ, EV_ADD))
	require.Empty(t, now(t, q))
	put(t, b, "abc")
	for range 3 {
		got := now(t, q)
		require.Len(t, got, 1)
		require.Equal(t, Event{Ident: uint64(a), Filter: EVFILT_READ, Data: 3}, got[0])
	}
	get(t, a, 2)
	require.EqualValues(t, 1, now(t, q)[0].Data)
	get(t, a, 2)
	require.Empty(t, now(t, q))
}

func TestWithClearAnEventComesOnceForEachThatHappens(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	apply(t, q, change(a, EVFILT_READ, EV_ADD|EV_CLEAR))
	for i := range 3 {
		put(t, b, "abc")
		got := now(t, q)
		require.Len(t, got, 1)
		require.EqualValues(t, 3*(i+1), got[0].Data, "data counts all there is")
		require.Empty(t, now(t, q))
	}
	get(t, a, 100)
	require.Empty(t, now(t, q), "reading is no event")
}

func TestWhatWasReadBeforeTheEventWasTakenIsNoEvent(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	apply(t, q, change(a, EVFILT_READ, EV_ADD|EV_CLEAR))
	put(t, b, "abc")
	get(t, a, 3)
	require.Empty(t, now(t, q))
}

func TestAddingAgainLooksAnewAndChangesWhatItSays(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	put(t, b, "there before")
	add := change(a, EVFILT_READ, EV_ADD|EV_CLEAR)
	for i := range 3 {
		add.Udata = uintptr(i)
		apply(t, q, add)
		got := now(t, q)
		require.Len(t, got, 1)
		require.EqualValues(t, i, got[0].Udata)
		require.Empty(t, now(t, q))
	}
}

func TestTheEndIsAnEventWithWhatWasLeftToRead(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	apply(t, q, change(a, EVFILT_READ, EV_ADD|EV_CLEAR))
	put(t, b, "last")
	require.NoError(t, unix.Shutdown(b, unix.SHUT_WR))
	got := now(t, q)
	require.Len(t, got, 1)
	require.EqualValues(t, EV_CLEAR|EV_EOF, got[0].Flags)
	require.EqualValues(t, 4, got[0].Data)
	require.Zero(t, got[0].Fflags, "no error")
}

func TestARoomIsToldOfWhenThereIsSomeAgain(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	apply(t, q, change(a, EVFILT_WRITE, EV_ADD|EV_CLEAR))
	got := now(t, q)
	require.Len(t, got, 1)
	require.Positive(t, got[0].Data)
	full := 0
	for p := make([]byte, 4096); ; {
		n, err := unix.Write(a, p)
		if err == unix.EAGAIN {
			break
		}
		require.NoError(t, err)
		full += n
	}
	require.Empty(t, now(t, q))
	for full > 0 {
		full -= len(get(t, b, full))
	}
	require.Len(t, soon(t, q), 1)
	require.NoError(t, unix.Close(b))
	got = soon(t, q)
	require.NotZero(t, got[0].Flags&EV_EOF, "nobody reads any more")
}

func TestOneshotGoesAndDispatchIsDisabled(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	put(t, b, "abc")
	apply(t, q, change(a, EVFILT_READ, EV_ADD|EV_ONESHOT))
	require.Len(t, now(t, q), 1)
	_, errno := q.Kevent([]Event{change(a, EVFILT_READ, EV_ENABLE)}, nil, nil)
	require.Equal(t, unix.ENOENT, errno)

	apply(t, q, change(a, EVFILT_READ, EV_ADD|EV_DISPATCH))
	require.Len(t, now(t, q), 1)
	require.Empty(t, now(t, q))
	apply(t, q, change(a, EVFILT_READ, EV_ENABLE))
	require.Len(t, now(t, q), 1)
}

func TestADisabledFilterKeepsQuietAndADeletedOneIsGone(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	apply(t, q, change(a, EVFILT_READ, EV_ADD|EV_CLEAR|EV_DISABLE))
	put(t, b, "abc")
	require.Empty(t, now(t, q))
	apply(t, q, change(a, EVFILT_READ, EV_ENABLE))
	require.Len(t, now(t, q), 1)
	apply(t, q, change(a, EVFILT_READ, EV_DISABLE))
	put(t, b, "def")
	require.Empty(t, now(t, q))
	apply(t, q, change(a, EVFILT_READ, EV_ADD)) // enables, too
	require.Len(t, now(t, q), 1)

	apply(t, q, change(a, EVFILT_READ, EV_DELETE))
	put(t, b, "ghi")
	require.Empty(t, now(t, q))
	_, errno := q.Kevent([]Event{change(a, EVFILT_READ, EV_DELETE)}, nil, nil)
	require.Equal(t, unix.ENOENT, errno)
}

func TestUserEvents(t *testing.T) {
	q := newQueue(t)
	apply(t, q, change(7, EVFILT_USER, EV_ADD|EV_CLEAR))
	require.Empty(t, now(t, q))
	waits := make(chan []Event)
	go func() { waits <- soon(t, q) }()
	trigger := Event{Ident: 7, Filter: EVFILT_USER, Fflags: NOTE_TRIGGER | NOTE_FFCOPY | 5}
	apply(t, q, trigger)
	got := <-waits
	require.Len(t, got, 1)
	require.EqualValues(t, 5, got[0].Fflags)
	require.Empty(t, now(t, q), "EV_CLEAR")
	apply(t, q, trigger, trigger)
	require.Len(t, now(t, q), 1, "they coalesce")
}

func TestTimers(t *testing.T) {
	q := newQueue(t)
	timer := change(1, EVFILT_TIMER, EV_ADD)
	timer.Data = 1 // ms
	apply(t, q, timer)
	for range 3 {
		got := soon(t, q)
		require.Len(t, got, 1)
		require.Positive(t, got[0].Data)
	}
	apply(t, q, change(1, EVFILT_TIMER, EV_DELETE))
	require.Empty(t, now(t, q))
}

func TestAChangeThatFailsIsAnEventIfThereIsRoom(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	put(t, b, "abc")
	changes := []Event{change(1<<20, EVFILT_READ, EV_ADD), change(a, EVFILT_READ, EV_ADD), change(a, EVFILT_WRITE, EV_DELETE), change(a, -99, EV_ADD)}
	events := make([]Event, 8)
	n, errno := q.Kevent(changes, events, nil)
	require.Zero(t, errno)
	require.Equal(t, 3, n, "and no others, though there are")
	for i, want := range []syscall.Errno{unix.EBADF, unix.ENOENT, unix.EINVAL} {
		require.NotZero(t, events[i].Flags&EV_ERROR)
		require.EqualValues(t, want, events[i].Data)
	}
	require.Len(t, now(t, q), 1, "the one that did not fail was made")

	n, errno = q.Kevent(changes[:1], nil, nil)
	require.Zero(t, n)
	require.Equal(t, unix.EBADF, errno)

	receipt := change(a, EVFILT_WRITE, EV_ADD|EV_RECEIPT)
	n, errno = q.Kevent([]Event{receipt}, events, nil)
	require.Zero(t, errno)
	require.Equal(t, 1, n)
	require.NotZero(t, events[0].Flags&EV_ERROR)
	require.Zero(t, events[0].Data)
}

func TestFiltersGoWithTheirDescriptorWhateverElseIsOpen(t *testing.T) {
	q := newQueue(t)
	a, b := socketpair(t)
	kept, err := unix.Dup(a)
	require.NoError(t, err)
	defer unix.Close(kept)
	number, err := unix.Dup(a)
	require.NoError(t, err)
	apply(t, q, change(number, EVFILT_READ, EV_ADD))
	require.NoError(t, unix.Close(number))
	other, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer other.Close()
	require.EqualValues(t, number, other.Fd(), "the number was not reused: this test shows nothing")
	put(t, b, "abc")
	require.Empty(t, now(t, q))
	_, errno := q.Kevent([]Event{change(number, EVFILT_READ, EV_DELETE)}, nil, nil)
	require.Equal(t, unix.ENOENT, errno)
}

func TestAListenerCountsWhoWaits(t *testing.T) {
	q := newQueue(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		apply(t, q, change(int(fd), EVFILT_READ, EV_ADD|EV_CLEAR), change(int(fd), EVFILT_WRITE, EV_ADD|EV_CLEAR))
		for i := range 3 {
			c, err := net.Dial("tcp", ln.Addr().String())
			require.NoError(t, err)
			defer c.Close()
			got := soon(t, q)
			require.Len(t, got, 1, "and never room to write")
			require.EqualValues(t, EVFILT_READ, got[0].Filter)
			require.EqualValues(t, i+1, got[0].Data)
		}
	}))
}

func TestAResetIsTheEndWithAnError(t *testing.T) {
	q := newQueue(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	peer, err := ln.Accept()
	require.NoError(t, err)
	defer peer.Close()
	raw, err := peer.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		apply(t, q, change(int(fd), EVFILT_READ, EV_ADD|EV_CLEAR))
		require.Empty(t, now(t, q))
		require.NoError(t, c.(*net.TCPConn).SetLinger(0))
		require.NoError(t, c.Close())
		got := soon(t, q)
		require.NotZero(t, got[0].Flags&EV_EOF)
		require.EqualValues(t, unix.ECONNRESET, got[0].Fflags)
		_, err := unix.Read(int(fd), make([]byte, 1))
		require.Equal(t, unix.ECONNRESET, err, "looking has not taken the error")
	}))
}

func TestASocketThatIsNotConnectedIsNotReady(t *testing.T) {
	q := newQueue(t)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	apply(t, q, change(fd, EVFILT_READ, EV_ADD|EV_CLEAR), change(fd, EVFILT_WRITE, EV_ADD|EV_CLEAR))
	require.Empty(t, now(t, q))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: ln.Addr().(*net.TCPAddr).Port}
	require.NoError(t, ln.Close())
	require.ErrorIs(t, unix.Connect(fd, at), unix.EINPROGRESS)
	got := soon(t, q)
	require.NotZero(t, got[len(got)-1].Flags&EV_EOF)
	require.EqualValues(t, unix.ECONNREFUSED, got[len(got)-1].Fflags)
}

func TestAWaitEndsInTimeAndNotBefore(t *testing.T) {
	q := newQueue(t)
	const wait = 3 * time.Millisecond
	start := time.Now()
	for time.Since(start) < wait { // a signal may end it early
		limit := unix.NsecToTimespec(wait.Nanoseconds())
		n, errno := q.Kevent(nil, make([]Event, 1), &limit)
		require.Zero(t, n)
		if errno == 0 {
			break
		}
		require.Equal(t, unix.EINTR, errno)
	}
	require.GreaterOrEqual(t, time.Since(start), wait)
}

func TestAClosedQueueSaysSo(t *testing.T) {
	q := newQueue(t)
	q.Close()
	_, errno := q.Kevent(nil, make([]Event, 1), nil)
	require.Equal(t, unix.EBADF, errno)
}
