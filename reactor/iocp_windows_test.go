package reactor

import (
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/patience"
)

func newTestIOCP(t *testing.T, cfg Config) (*readiness, *iocp) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	opened, err := Open(cfg)
	require.NoError(t, err)
	r := opened.(*readiness)
	t.Cleanup(func() { _ = r.Close() }) // a test may have closed it
	return r, r.poller.(*iocp)
}

// handleOf is the socket of what package net made, which has it in a port of Go's own.
func handleOf(t *testing.T, c syscall.Conn) (fd int) {
	t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(h uintptr) { fd = int(h) }))
	return fd
}

// next polls until there is a completion.
func next(t *testing.T, r *readiness) Completion {
	t.Helper()
	var out [1]Completion
	for range 1000 {
		n, err := r.Poll(out[:], patience.Limit, false)
		require.NoError(t, err)
		if n == 1 {
			return out[0]
		}
	}
	t.Fatal("nothing has come")
	return Completion{}
}

func listenTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln.(*net.TCPListener)
}

// connectedSocket is a socket of the reactor's own, and its peer.
func connectedSocket(t *testing.T, r *readiness, ln *net.TCPListener) (fd int, peer *net.TCPConn) {
	t.Helper()
	h, err := windows.WSASocket(windows.AF_INET, windows.SOCK_STREAM, 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	require.NoError(t, err)
	require.NoError(t, r.Submit(&Op{Kind: Connect, FD: int(h), Token: MakeToken(uint32(h), 1), Addr: ln.Addr()}))
	require.Zero(t, next(t, r).Res)
	c, err := ln.AcceptTCP()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return int(h), c
}

// Sockets that package net has added to Go's port cannot join this one: afd reports their events.
func TestIOCPServesSocketsOfAnotherPort(t *testing.T) {
	r, s := newTestIOCP(t, Config{})
	ln := listenTCP(t)
	at := handleOf(t, ln)
	require.NoError(t, r.Submit(&Op{Kind: Accept, FD: at, Token: MakeToken(1, 1)}))
	for range 3 {
		peer, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		c := next(t, r)
		require.Equal(t, Accept, c.Kind)
		require.True(t, c.More)
		require.True(t, s.sockets[at].foreign)

		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: c.Res, Token: MakeToken(2, 1)}))
		_, err = peer.Write([]byte("hello"))
		require.NoError(t, err)
		got := next(t, r)
		require.Equal(t, "hello", string(got.Buf.Bytes))
		require.False(t, s.sockets[c.Res].foreign)
		r.Release(got.Buf)
		require.NoError(t, r.Submit(&Op{Kind: Cancel, Target: Recv, FD: c.Res, Token: MakeToken(2, 1)}))
		require.Equal(t, -int(syscall.ECANCELED), next(t, r).Res)

		theirs := handleOf(t, peer.(*net.TCPConn)) // both ways on one of theirs
		op := Op{Kind: Send, FD: theirs, Token: MakeToken(3, 1), Buf: []byte("back")}
		require.NoError(t, r.Submit(&op))
		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: theirs, Token: MakeToken(3, 1)}))
		sent := Op{Kind: Send, FD: c.Res, Token: MakeToken(2, 1), Buf: []byte("forth")}
		require.NoError(t, r.Submit(&sent))
		require.Equal(t, []int{4, 5}, []int{op.Sent, sent.Sent})
		got = next(t, r)
		require.Equal(t, "forth", string(got.Buf.Bytes))
		require.True(t, s.sockets[theirs].foreign)
		r.Release(got.Buf)
		require.NoError(t, r.Submit(&Op{Kind: Cancel, Target: Recv, FD: theirs, Token: MakeToken(3, 1)}))
		require.Equal(t, -int(syscall.ECANCELED), next(t, r).Res)
		r.forget(theirs)
		require.NoError(t, peer.Close())
		require.NoError(t, r.Submit(&Op{Kind: Close, FD: c.Res}))
	}
}

// Idle connections hold no buffer: there is one for all of them.
func TestIOCPIdleConnectionsHoldNoBuffer(t *testing.T) {
	r, s := newTestIOCP(t, Config{Buffers: 1, BufferSize: 4096})
	ln := listenTCP(t)
	var peers []*net.TCPConn
	var fds []int
	for range 20 {
		fd, peer := connectedSocket(t, r, ln)
		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: MakeToken(uint32(fd), 1)}))
		fds, peers = append(fds, fd), append(peers, peer)
	}
	require.Len(t, r.whole, 1, "the buffer is in nobody's hands")
	require.Equal(t, len(fds), s.flying, "a request of no bytes for each")
	for i, peer := range peers {
		_, err := peer.Write([]byte("x"))
		require.NoError(t, err)
		c := next(t, r)
		require.EqualValues(t, fds[i], c.Token.Index())
		require.Equal(t, "x", string(c.Buf.Bytes))
		r.Release(c.Buf)
	}
	for _, fd := range fds {
		require.NoError(t, r.Submit(&Op{Kind: Cancel, Target: Recv, FD: fd, Token: MakeToken(uint32(fd), 1)}))
		next(t, r)
		require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd}))
	}
	for deadline := time.Now().Add(patience.Limit); len(s.gone) > 0 && time.Now().Before(deadline); {
		_, err := r.Poll(make([]Completion, 1), time.Millisecond, false)
		require.NoError(t, err)
	}
	require.Empty(t, s.gone, "the kernel gave every request of a closed socket back")
	require.Zero(t, s.flying)
}

// Close leaves the kernel nothing that it could still write to.
func TestIOCPCloseWaitsForItsRequests(t *testing.T) {
	for range 20 {
		r, s := newTestIOCP(t, Config{})
		ln := listenTCP(t)
		fd, peer := connectedSocket(t, r, ln)
		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: MakeToken(1, 1)}))
		require.NoError(t, r.Submit(&Op{Kind: Writable, FD: fd, Token: MakeToken(1, 1)}))
		require.NoError(t, r.Submit(&Op{Kind: Accept, FD: handleOf(t, ln), Token: MakeToken(2, 1)}))
		require.NotZero(t, s.flying)
		require.NoError(t, r.Close())
		require.Zero(t, s.flying)
		require.Empty(t, s.gone)
		closeFD(fd)
		require.NoError(t, peer.Close())
	}
}

func TestTrySendTakesWhatThereIsRoomForInOrderOnWindows(t *testing.T) {
	r, _ := newTestIOCP(t, Config{})
	fd, peer := connectedSocket(t, r, listenTCP(t))
	defer closeFD(fd)
	rnd := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 16<<20)
	for i := range want {
		want[i] = byte(rnd.Uint32())
	}
	got := make([]byte, 0, len(want))
	sent, full := 0, 0
	for len(got) < len(want) {
		rest := want[sent:]
		first := rest[:min(len(rest), rnd.IntN(300<<10))]
		n, errno := Calls{}.TrySend(fd, first, rest[len(first):])
		if errno == syscall.EAGAIN || len(rest) == 0 {
			full++
			m, err := io.ReadAtLeast(peer, got[len(got):min(cap(got), len(got)+100<<10)], 1)
			require.NoError(t, err)
			got = got[:len(got)+m]
			continue
		}
		require.Zero(t, errno)
		require.Positive(t, n)
		sent += n
	}
	require.Positive(t, full, "there always was room")
	require.Equal(t, want, got)

	p := make([]byte, 10)
	_, errno := Calls{}.TryRecv(fd, p)
	require.Equal(t, syscall.EAGAIN, errno)
	_, err := peer.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, r.Submit(&Op{Kind: Readable, FD: fd, Token: MakeToken(1, 1)}))
	require.Equal(t, Readable, next(t, r).Kind)
	n, errno := Calls{}.TryRecv(fd, p)
	require.Zero(t, errno)
	require.Equal(t, "hello", string(p[:n]))
}

func TestErrnosArePortable(t *testing.T) {
	for native, want := range map[syscall.Errno]syscall.Errno{
		windows.WSAECONNRESET:            syscall.ECONNRESET,
		windows.ERROR_NETNAME_DELETED:    syscall.ECONNRESET,
		windows.WSAEWOULDBLOCK:           syscall.EAGAIN,
		windows.ERROR_OPERATION_ABORTED:  syscall.ECANCELED,
		windows.ERROR_CONNECTION_REFUSED: syscall.ECONNREFUSED,
		windows.ERROR_SEM_TIMEOUT:        syscall.ETIMEDOUT,
		windows.WSAESHUTDOWN:             syscall.EPIPE,
		syscall.ECONNRESET:               syscall.ECONNRESET, // is already
		windows.ERROR_SHARING_VIOLATION:  windows.ERROR_SHARING_VIOLATION,
		0:                                0,
	} {
		require.Equal(t, want, Errno(native), native.Error())
	}
	for status, want := range map[windows.NTStatus]syscall.Errno{
		windows.STATUS_SUCCESS:            0,
		windows.STATUS_PENDING:            0,
		windows.STATUS_BUFFER_OVERFLOW:    0, // a warning
		windows.STATUS_CANCELLED:          syscall.ECANCELED,
		windows.STATUS_CONNECTION_REFUSED: syscall.ECONNREFUSED,
		windows.STATUS_CONNECTION_RESET:   syscall.ECONNRESET,
	} {
		require.Equal(t, want, statusErrno(status), status.Error())
	}
}
