package reactortest

import (
	"net"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/reactor"
)

// local is the network for tests that work on any network.
const local = "tcp"

// lacksNetwork returns the reason why this system lacks a network; "": it has it.
func lacksNetwork(network string) (why string) {
	fd, err := socket(network)
	switch {
	case err == windows.WSAEAFNOSUPPORT && onWine():
		return "Wine has no AF_UNIX, as Windows had none before version 10"
	case err != nil:
		return err.Error()
	}
	closeSocket(fd)
	return ""
}

// forgetsErrors returns the reason why a socket reports an error, such as a reset, only to a
// receive that is in flight when the error occurs. "": it reports the error to the next receive.
func forgetsErrors() (why string) {
	if onWine() {
		return "Wine forgets an error of a socket for which no receive is in flight"
	}
	return ""
}

// leavesNumbers says whether the next descriptor may get another number than the one closed last.
const leavesNumbers = true

// onWine reports whether this is not Windows itself.
func onWine() bool { return wineVersion.Find() == nil }

var wineVersion = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")

func socket(network string) (int, error) {
	domain := map[string]int32{"tcp": windows.AF_INET, "tcp6": windows.AF_INET6, "unix": windows.AF_UNIX}[network]
	fd, err := windows.WSASocket(domain, windows.SOCK_STREAM, 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	return int(fd), err
}

func newSocket(t testing.TB, network string) int {
	t.Helper()
	fd, err := socket(network)
	require.NoError(t, err)
	nonblock(t, fd)
	return fd
}

func nonblock(t testing.TB, fd int) {
	t.Helper()
	require.NoError(t, setNonblock(fd))
}

func setNonblock(fd int) error {
	const fionbio = 0x8004667e
	on := uint32(1)
	r, _, err := windows.NewLazySystemDLL("ws2_32.dll").NewProc("ioctlsocket").Call(uintptr(fd), fionbio, uintptr(unsafe.Pointer(&on)))
	if int32(r) != 0 {
		return err
	}
	return nil
}

func sockaddr(t testing.TB, addr net.Addr) windows.Sockaddr {
	t.Helper()
	switch a := addr.(type) {
	case *net.UnixAddr:
		return &windows.SockaddrUnix{Name: a.Name}
	case *net.TCPAddr:
		if ip := a.IP.To4(); ip != nil {
			return &windows.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
		}
		return &windows.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
	}
	t.Fatalf("no sockets for %T", addr)
	return nil
}

// dialSocket returns a connected, non-blocking socket.
func dialSocket(t testing.TB, network string, to net.Addr) int {
	t.Helper()
	fd, err := socket(network)
	require.NoError(t, err)
	require.NoError(t, windows.Connect(windows.Handle(fd), sockaddr(t, to)))
	nonblock(t, fd)
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
	require.NoError(t, windows.Bind(windows.Handle(fd), sockaddr(t, at)))
	if backlog >= 0 {
		require.NoError(t, windows.Listen(windows.Handle(fd), backlog))
	}
	sa, err := windows.Getsockname(windows.Handle(fd))
	require.NoError(t, err)
	return fd, &net.TCPAddr{IP: at.IP, Port: sa.(*windows.SockaddrInet4).Port}
}

// unansweringAddress returns an address where connecting neither succeeds nor fails for at least a
// second or two: the backlog of its listener is full.
func unansweringAddress(t testing.TB) net.Addr {
	t.Helper()
	fd, addr := listenAt(t, "tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 0)
	t.Cleanup(func() { closeSocket(fd) })
	for range 4 {
		c := newSocket(t, "tcp")
		t.Cleanup(func() { closeSocket(c) })
		if err := windows.Connect(windows.Handle(c), sockaddr(t, addr)); err != nil {
			require.ErrorIs(t, err, windows.WSAEWOULDBLOCK)
		}
	}
	return addr
}

func closeSocket(fd int) { _ = windows.Closesocket(windows.Handle(fd)) }

// dupSocket returns a second descriptor of the socket.
func dupSocket(t testing.TB, fd int) int {
	t.Helper()
	var info windows.WSAProtocolInfo
	require.NoError(t, windows.WSADuplicateSocket(windows.Handle(fd), uint32(os.Getpid()), &info))
	const fromInfo = -1 // FROM_PROTOCOL_INFO
	dup, err := windows.WSASocket(fromInfo, fromInfo, fromInfo, &info, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	require.NoError(t, err)
	return int(dup)
}

// shrink makes the send buffer small, so that a send of a megabyte to a peer that does not read
// blocks.
func shrink(t testing.TB, fd int) {
	t.Helper()
	const sndbuf = 0x1001
	require.NoError(t, windows.SetsockoptInt(windows.Handle(fd), windows.SOL_SOCKET, sndbuf, 128<<10))
}

// cork does nothing: Windows cannot make the end and the data leave together. They leave one soon
// after the other.
func cork(testing.TB, net.Conn) {}

// sendUrgent sends one byte out of band.
func sendUrgent(t testing.TB, c net.Conn) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		p := []byte{'!'}
		buf, n := windows.WSABuf{Len: 1, Buf: &p[0]}, uint32(0)
		const oob = 1 // MSG_OOB
		require.NoError(t, windows.WSASend(windows.Handle(fd), &buf, 1, &n, oob, nil, nil))
	}))
}

// sendRights does not exist on Windows.
func sendRights(t testing.TB, _ net.Conn, _ string) {
	t.Skip("sockets carry no descriptors here")
}

// requireModes checks that an accepted socket is non-blocking and not inherited.
func requireModes(t testing.TB, fd int) {
	t.Helper()
	p := make([]byte, 1)
	buf, n, peek := windows.WSABuf{Len: 1, Buf: &p[0]}, uint32(0), uint32(windows.MSG_PEEK)
	_ = windows.WSARecv(windows.Handle(fd), &buf, 1, &n, &peek, nil, nil) // returns
	var flags uint32
	r, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetHandleInformation").Call(uintptr(fd), uintptr(unsafe.Pointer(&flags)))
	require.NotZero(t, r, err)
	require.Zero(t, flags&windows.HANDLE_FLAG_INHERIT, "socket %d is inherited", fd)
}

// descriptors counts the open sockets of this process that have low numbers. The runtime's threads
// have handles too, whose number changes.
func descriptors(t testing.TB) (n int) {
	t.Helper()
	const highest, typ = 1 << 13, 0x1008
	for h := windows.Handle(4); h < highest; h += 4 {
		var v, size int32 = 0, 4
		if windows.Getsockopt(h, windows.SOL_SOCKET, typ, (*byte)(unsafe.Pointer(&v)), &size) == nil {
			n++
		}
	}
	return n
}

// exhaust does not exist on Windows.
func exhaust(t testing.TB, _ int) (restore func()) {
	t.Helper()
	t.Skip("a process has no limit of sockets here")
	return nil
}

// traps opens ports at the lowest free handles. sprung reports whether a packet has been posted to
// one.
func traps(t testing.TB, n int) (sprung func() bool) {
	t.Helper()
	var ports []windows.Handle
	for range 2 * n {
		port, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 0)
		require.NoError(t, err)
		ports = append(ports, port)
	}
	t.Cleanup(func() {
		for _, port := range ports {
			_ = windows.CloseHandle(port)
		}
	})
	return func() bool {
		for _, port := range ports {
			var n uint32
			var key uintptr
			var ov *windows.Overlapped
			if err := windows.GetQueuedCompletionStatus(port, &n, &key, &ov, 0); err == nil {
				return true
			}
		}
		return false
	}
}

// interruptions does nothing: Windows has no signals that interrupt a wait.
func interruptions() (stop func()) { return func() {} }

// tryRead and tryWrite make one system call each, which does not wait. The error is an errno.
func tryRead(fd int, p []byte) (int, error) {
	buf, n, flags := windows.WSABuf{Len: uint32(len(p)), Buf: unsafe.SliceData(p)}, uint32(0), uint32(0)
	err := windows.WSARecv(windows.Handle(fd), &buf, 1, &n, &flags, nil, nil)
	return int(n), portable(err)
}

func tryWrite(fd int, p []byte) (int, error) {
	buf, n := windows.WSABuf{Len: uint32(len(p)), Buf: unsafe.SliceData(p)}, uint32(0)
	err := windows.WSASend(windows.Handle(fd), &buf, 1, &n, 0, nil, nil)
	return int(n), portable(err)
}

func portable(err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return reactor.Errno(errno)
	}
	return err
}

// tryAccept accepts without a wait.
func tryAccept(fd int) (int, error) {
	r, _, err := windows.NewLazySystemDLL("ws2_32.dll").NewProc("accept").Call(uintptr(fd), 0, 0)
	if windows.Handle(r) == windows.InvalidHandle {
		return -1, portable(err)
	}
	return int(r), nil
}
