package reactor

import (
	"bytes"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/iosync"
	"github.com/suiro-go/suiro/internal/patience"
)

// eachWatcher runs the test with a reactor of each backend.
func eachWatcher(t *testing.T, cfg Config, test func(t *testing.T, r Reactor)) {
	for _, name := range Backends() {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cfg := cfg
			cfg.Backend = name
			r, err := Open(cfg)
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = r.Close() }()
			test(t, r)
		})
	}
}

func socketPair(t *testing.T) (fd, peer int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(pair[1]) })
	return pair[0], pair[1]
}

// nextEdge polls until the Watch has an edge, or has ended.
func nextEdge(t *testing.T, r Reactor) Completion {
	t.Helper()
	watchdog := time.AfterFunc(patience.Limit, func() { panic("reactor: no edge ends an endless wait") })
	defer watchdog.Stop()
	var out [1]Completion
	for {
		n, err := r.Poll(out[:], -1, false)
		require.NoError(t, err)
		if n == 1 {
			require.Equal(t, Watch, out[0].Kind)
			return out[0]
		}
	}
}

func TestAnEdgeAllocatesNothing(t *testing.T) {
	if iosync.Enabled {
		t.Skip("the race detector allocates")
	}
	eachWatcher(t, Config{}, func(t *testing.T, r Reactor) {
		if r.Name() == "kqueue" {
			t.Skip("the emulation allocates")
		}
		fd, peer := socketPair(t)
		require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}))
		require.Equal(t, int(EdgeOut), nextEdge(t, r).Res)
		var p [8]byte
		var out [4]Completion
		turn := func() {
			if n, _ := unix.Write(peer, p[:]); n != len(p) {
				t.Error("not written")
			}
			for edge := Edge(0); edge&EdgeIn == 0; {
				n, err := r.Poll(out[:], patience.Limit, false)
				if err != nil || n == 0 {
					t.Fatal("no edge", err)
				}
				edge = Edge(out[0].Res)
			}
			if n, _ := unix.Read(fd, p[:]); n != len(p) {
				t.Error("not read")
			}
		}
		require.Zero(t, testing.AllocsPerRun(200, turn))
		require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd, Target: Watch, Token: 1}))
	})
}

// A descriptor's state has a size class of its own. Thousands of idle connections have one each.
func TestTheStateOfADescriptorStaysSmall(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 40, unsafe.Sizeof(fdState{}))
	}
	require.EqualValues(t, 1024, unsafe.Sizeof(watchesChunk{}))
}

// A Close, or a Cancel, by another goroutine makes a completion for an owner that waits.
func TestAnEndOfAWatchWakesTheOwner(t *testing.T) {
	eachWatcher(t, Config{}, func(t *testing.T, r Reactor) {
		for _, op := range []Op{{Kind: Cancel, Target: Watch}, {Kind: Close, Target: Watch}} {
			fd, _ := socketPair(t)
			require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}))
			require.Equal(t, int(EdgeOut), nextEdge(t, r).Res)
			submitted := make(chan error, 1)
			go func() {
				if r, ok := r.(*readiness); ok {
					for waits := false; !waits; runtime.Gosched() {
						r.mu.Lock()
						waits = r.waiting
						r.mu.Unlock()
					}
				}
				op.FD, op.Token = fd, 1
				submitted <- r.Submit(&op)
			}()
			require.Equal(t, Completion{Token: 1, Kind: Watch, Res: -int(unix.ECANCELED)}, nextEdge(t, r))
			require.NoError(t, <-submitted)
			if op.Kind == Cancel {
				require.NoError(t, unix.Close(fd))
			}
		}
	})
}

// After a Cancel the descriptor is nobody's: the kernel reports nothing of it to the reactor.
func TestACanceledWatchLeavesTheKernel(t *testing.T) {
	eachWatcher(t, Config{}, func(t *testing.T, r Reactor) {
		fd, peer := socketPair(t)
		defer unix.Close(fd)
		require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}))
		require.Equal(t, int(EdgeOut), nextEdge(t, r).Res)
		require.NoError(t, r.Submit(&Op{Kind: Cancel, Target: Watch, FD: fd, Token: 1}))
		require.EqualValues(t, -int(unix.ECANCELED), nextEdge(t, r).Res)
		_, err := unix.Write(peer, []byte("x"))
		require.NoError(t, err)
		if rd, ok := r.(*readiness); ok {
			n, errno := rd.poller.wait(0, false)
			require.Zero(t, errno)
			require.Zero(t, n, "the kernel still watches")
		}
	})
}

// Calls that fail as planned, or are short, are the owner's own: the reactor makes the edges that
// the owner waits for then.
func TestPlannedFailuresOfCallsLoseNoEdge(t *testing.T) {
	plan := faults.New(5, faults.Rule{Call: faults.Recv, Errno: unix.EAGAIN, Odds: 0.3},
		faults.Rule{Call: faults.Recv, Odds: 0.3},
		faults.Rule{Call: faults.Send, Errno: unix.EAGAIN, Odds: 0.3}, faults.Rule{Call: faults.Send, Odds: 0.3})
	cfg := Config{faults: plan}
	eachWatcher(t, cfg, func(t *testing.T, r Reactor) {
		calls := NewCalls(cfg)
		fd, peer := tcpPair(t)
		require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}))
		var edge Edge
		// transfer calls until all bytes are done. A call that does only a part counts as EAGAIN.
		transfer := func(direction Edge, p []byte, call func(p []byte) (int, syscall.Errno)) {
			for len(p) > 0 {
				for edge&direction == 0 {
					edge |= Edge(nextEdge(t, r).Res)
				}
				edge &^= direction
				n, errno := call(p)
				if p = p[n:]; errno == 0 && len(p) == 0 {
					edge |= direction
				}
			}
		}
		for i := range 100 {
			message := bytes.Repeat([]byte{byte(i)}, 200)
			_, err := unix.Write(peer, message)
			require.NoError(t, err)
			got := make([]byte, len(message))
			transfer(EdgeIn, got, func(p []byte) (int, syscall.Errno) { return calls.TryRecv(fd, p) })
			require.Equal(t, message, got)
			transfer(EdgeOut, got, func(p []byte) (int, syscall.Errno) { return calls.TrySend(fd, p, nil) })
			for rest := got; len(rest) > 0; { // the pieces may arrive one by one
				_, err := unix.Poll([]unix.PollFd{{Fd: int32(peer), Events: unix.POLLIN}}, -1)
				if err == unix.EINTR {
					continue
				}
				require.NoError(t, err)
				n, err := unix.Read(peer, rest)
				require.NoError(t, err)
				rest = rest[n:]
			}
			require.Equal(t, message, got)
		}
		require.NotZero(t, plan.Injected(faults.Recv, unix.EAGAIN))
		require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd, Target: Watch, Token: 1}))
	})
}

// tcpPair returns two connected sockets that do not block.
func tcpPair(t *testing.T) (fd, peer int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer dialed.Close()
	accepted, err := l.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	own := func(c net.Conn) (fd int) {
		raw, err := c.(syscall.Conn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(number uintptr) {
			fd, err = unix.FcntlInt(number, unix.F_DUPFD_CLOEXEC, 0)
			require.NoError(t, err)
		}))
		return fd
	}
	fd, peer = own(accepted), own(dialed)
	t.Cleanup(func() { _ = unix.Close(peer) })
	return fd, peer
}

// A connect makes an edge when it has ended, with an error if it has failed.
func TestAnEdgeTellsOfAConnect(t *testing.T) {
	eachWatcher(t, Config{}, func(t *testing.T, r Reactor) {
		for i, answered := range []bool{true, false} {
			ln, to := fullListener(t)
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			require.NoError(t, err)
			require.Equal(t, unix.EINPROGRESS, unix.Connect(fd, to))
			token := Token(i + 1)
			require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: token}))
			var out [1]Completion
			n, err := r.Poll(out[:], 10*time.Millisecond, false)
			require.NoError(t, err)
			require.Zero(t, n, "it has no answer yet: %v", out)
			if answered { // the kernel tries again after a second
				for range 2 {
					conn, _, err := unix.Accept(ln)
					require.NoError(t, err)
					defer unix.Close(conn)
				}
				require.NoError(t, unix.Close(ln))
			} else { // and is refused then
				require.NoError(t, unix.Close(ln))
			}
			edge := Edge(nextEdge(t, r).Res)
			require.NotZero(t, edge&EdgeOut)
			_, err = unix.Getpeername(fd)
			require.Equal(t, answered, err == nil)
			require.Equal(t, !answered, edge&EdgeError != 0)
			require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd, Target: Watch, Token: token}))
			require.Negative(t, nextEdge(t, r).Res)
		}
	})
}

// fullListener returns a listener that answers no connect until two connections are accepted. The
// test closes it.
func fullListener(t *testing.T) (fd int, to *unix.SockaddrInet4) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 0))
	at, err := unix.Getsockname(fd)
	require.NoError(t, err)
	to = at.(*unix.SockaddrInet4)
	for range 3 {
		c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(c) })
		_ = unix.Connect(c, to)
	}
	return fd, to
}

// A receive stops in front of urgent data, and no edge comes for the bytes behind it.
func TestAnEdgeTellsOfUrgentData(t *testing.T) {
	eachWatcher(t, Config{}, func(t *testing.T, r Reactor) {
		if r.Name() != "epoll" {
			t.Skip("only epoll tells")
		}
		fd, peer := tcpPair(t)
		_, err := unix.Write(peer, []byte("before"))
		require.NoError(t, err)
		require.NoError(t, unix.Sendto(peer, []byte{'!'}, unix.MSG_OOB, nil))
		_, err = unix.Write(peer, []byte("after"))
		require.NoError(t, err)
		require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}))
		for edge := Edge(0); edge&EdgeUrgent == 0; {
			edge |= Edge(nextEdge(t, r).Res)
		}
		require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd, Target: Watch, Token: 1}))
	})
}

func TestAWatchIsTheOnlyOperationOnItsDescriptor(t *testing.T) {
	r := newTestEpoll(t)
	fd, _ := socketPair(t)
	defer unix.Close(fd)
	require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: 1}))
	require.ErrorIs(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}), syscall.EALREADY)
	require.NoError(t, r.Submit(&Op{Kind: Cancel, Target: Recv, FD: fd, Token: 1}))
	require.NoError(t, r.Submit(&Op{Kind: Hangup, FD: fd, Token: 1}))
	require.ErrorIs(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}), syscall.EALREADY)
	require.NoError(t, r.Submit(&Op{Kind: Cancel, Target: Hangup, FD: fd, Token: 1}))
	require.NoError(t, r.Submit(&Op{Kind: Watch, FD: fd, Token: 1}))
	for _, kind := range []Kind{Watch, Accept, Recv, RecvFrom, Readable, Writable, Hangup} {
		require.ErrorIs(t, r.Submit(&Op{Kind: kind, FD: fd, Token: 1}), syscall.EALREADY, "%v", kind)
	}
}
