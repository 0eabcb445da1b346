//go:build unix

package reactortest

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// local is the network for tests that work on any network.
const local = "unix"

// lacksNetwork returns the reason why this system lacks a network; "": it has it.
func lacksNetwork(string) (why string) { return "" }

// forgetsErrors returns the reason why a socket reports an error, such as a reset, only to a
// receive that is in flight when the error occurs. "": it reports the error to the next receive.
func forgetsErrors() (why string) { return "" }

// leavesNumbers says whether the next descriptor may get another number than the one closed last.
const leavesNumbers = false

func newSocket(t testing.TB, network string) int {
	t.Helper()
	domain := map[string]int{"tcp": unix.AF_INET, "tcp6": unix.AF_INET6, "unix": unix.AF_UNIX}[network]
	return makeSocket(t, domain, unix.SOCK_STREAM)
}

// makeSocket and makePair make sockets that are non-blocking and close-on-exec.
func makeSocket(t testing.TB, domain, kind int) int {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(domain, kind, 0)
	require.NoError(t, err)
	tame(t, fd)
	return fd
}

func makePair(t testing.TB, kind int) (p [2]int) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	p, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	require.NoError(t, err)
	tame(t, p[0])
	tame(t, p[1])
	return p
}

func tame(t testing.TB, fd int) {
	t.Helper()
	unix.CloseOnExec(fd)
	require.NoError(t, unix.SetNonblock(fd, true))
}

func sockaddr(t testing.TB, addr net.Addr) unix.Sockaddr {
	t.Helper()
	switch a := addr.(type) {
	case *net.UnixAddr:
		return &unix.SockaddrUnix{Name: a.Name}
	case *net.TCPAddr:
		if ip := a.IP.To4(); ip != nil {
			return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
		}
		return &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
	}
	t.Fatalf("no sockets for %T", addr)
	return nil
}

// dialSocket returns a connected, non-blocking socket.
func dialSocket(t testing.TB, network string, to net.Addr) int {
	t.Helper()
	fd := newSocket(t, network)
	require.NoError(t, unix.SetNonblock(fd, false))
	require.NoError(t, retry(func() error { return unix.Connect(fd, sockaddr(t, to)) }))
	require.NoError(t, unix.SetNonblock(fd, true))
	return fd
}

// listenSocket listens at a free address of 127.0.0.1.
func listenSocket(t testing.TB, network string) (int, net.Addr) {
	t.Helper()
	return listenAt(t, network, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 1024)
}

// nobodyAddress returns an address that refuses connections: its port is taken, so that no other
// socket gets it, and no socket listens there.
func nobodyAddress(t testing.TB) net.Addr {
	t.Helper()
	fd, addr := listenAt(t, "tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, -1)
	t.Cleanup(func() { closeSocket(fd) })
	return addr
}

// listenAt listens on the address. With a negative backlog it only binds the address.
func listenAt(t testing.TB, network string, at *net.TCPAddr, backlog int) (int, net.Addr) {
	t.Helper()
	fd := newSocket(t, network)
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	require.NoError(t, unix.Bind(fd, sockaddr(t, at)))
	if backlog >= 0 {
		require.NoError(t, unix.Listen(fd, backlog))
	}
	sa, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return fd, &net.TCPAddr{IP: at.IP, Port: sa.(*unix.SockaddrInet4).Port}
}

// unansweringAddress returns an address where connecting neither succeeds nor fails: the backlog of
// its listener is full.
func unansweringAddress(t testing.TB) net.Addr {
	t.Helper()
	fd, addr := listenAt(t, "tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 0)
	t.Cleanup(func() { closeSocket(fd) })
	for range 4 {
		c := newSocket(t, "tcp")
		t.Cleanup(func() { closeSocket(c) })
		if err := unix.Connect(c, sockaddr(t, addr)); err != nil {
			require.ErrorIs(t, err, unix.EINPROGRESS)
		}
	}
	return addr
}

func closeSocket(fd int) { _ = unix.Close(fd) }

// dupSocket returns a second descriptor of the socket.
func dupSocket(t testing.TB, fd int) int {
	t.Helper()
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	return dup
}

// shrink makes the send buffer small, so that a send of a megabyte to a peer that does not read
// blocks.
func shrink(t testing.TB, fd int) {
	t.Helper()
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 128<<10))
}

// sendUrgent sends one byte out of band.
func sendUrgent(t testing.TB, c net.Conn) {
	t.Helper()
	control(t, c, func(fd int) error { return unix.Sendto(fd, []byte{'!'}, unix.MSG_OOB, nil) })
}

// sendRights sends the text together with a descriptor.
func sendRights(t testing.TB, c net.Conn, text string) {
	t.Helper()
	control(t, c, func(fd int) error { return unix.Sendmsg(fd, []byte(text), unix.UnixRights(fd), nil, 0) })
}

func control(t testing.TB, c net.Conn, do func(fd int) error) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	var inner error
	require.NoError(t, raw.Control(func(fd uintptr) { inner = do(int(fd)) }))
	require.NoError(t, inner)
}

// requireModes checks that an accepted socket is non-blocking and close-on-exec.
func requireModes(t testing.TB, fd int) {
	t.Helper()
	status, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.NotZero(t, status&unix.O_NONBLOCK, "descriptor %d blocks", fd)
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	require.NoError(t, err)
	require.NotZero(t, flags&unix.FD_CLOEXEC, "descriptor %d survives exec", fd)
}

// exhaust lets the process open at most free more descriptors, until restore.
func exhaust(t testing.TB, free int) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	next := make([]int, free+1) // the next numbers: there are no gaps below them
	for i := range next {
		var err error
		next[i], err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
	}
	for _, fd := range next {
		closeSocket(fd)
	}
	now := was
	setLimit(&now.Cur, next[free])
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &now))
	restore = func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }
	t.Cleanup(restore)
	return restore
}

// setLimit exists because the type of a limit is signed on some systems.
func setLimit[T int64 | uint64](limit *T, n int) { *limit = T(n) }

// traps opens sockets at the lowest free descriptors. sprung reports whether bytes have been
// written to one.
func traps(t testing.TB, n int) (sprung func() bool) {
	t.Helper()
	var fds []int
	for range n {
		p := makePair(t, unix.SOCK_STREAM)
		fds = append(fds, p[0], p[1])
	}
	t.Cleanup(func() {
		for _, fd := range fds {
			closeSocket(fd)
		}
	})
	return func() bool {
		for _, fd := range fds {
			if _, err := unix.Read(fd, make([]byte, 8)); err != unix.EAGAIN {
				return true
			}
		}
		return false
	}
}

// interruptions sends signals until stop: to the calling thread, or to the process where a thread
// cannot be addressed.
func interruptions() (stop func()) {
	interrupt := interrupter()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
				interrupt(unix.SIGURG)            // Go's own signal for preemption: it has no other effect
				time.Sleep(20 * time.Microsecond) // gives the thread time to run between the signals
			}
		}
	}()
	return func() { close(quit); <-done }
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// tryRead and tryWrite make one system call each, which does not wait. The error is an errno.
func tryRead(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

func tryWrite(fd int, p []byte) (int, error) { return unix.Write(fd, p) }

// tryAccept accepts without a wait.
func tryAccept(fd int) (int, error) {
	conn, _, err := unix.Accept(fd)
	return conn, err
}
