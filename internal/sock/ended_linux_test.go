package sock_test

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/sock"
)

// A Look sees an end behind bytes that are unread, and leaves both for the reader.
func TestALookTakesNothing(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, way := range []string{"reset", "finish"} {
			if network == "unix" && way == "reset" {
				continue
			}
			t.Run(network+" "+way, func(t *testing.T) {
				address := "127.0.0.1:0"
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "socket")
				}
				ln, err := net.Listen(network, address)
				require.NoError(t, err)
				defer ln.Close()
				peer, err := net.Dial(network, ln.Addr().String())
				require.NoError(t, err)
				c, err := ln.Accept()
				require.NoError(t, err)
				defer c.Close()
				require.False(t, ended(t, c, true))
				_, err = peer.Write([]byte("last"))
				require.NoError(t, err)
				if tcp, ok := peer.(*net.TCPConn); ok && way == "reset" {
					require.NoError(t, tcp.SetLinger(0))
				} else {
					defer peer.Close()
					require.NoError(t, peer.(interface{ CloseWrite() error }).CloseWrite())
				}
				if way == "reset" {
					require.NoError(t, peer.Close())
					conntest.Eventually(t, func() bool { return ended(t, c, false) })
				} else {
					conntest.Eventually(t, func() bool { return ended(t, c, true) })
					require.False(t, ended(t, c, false), "a plain end is not asked for")
				}
				p := make([]byte, 4)
				_, err = io.ReadFull(c, p)
				require.NoError(t, err)
				require.Equal(t, "last", string(p))
				_, err = c.Read(p)
				if way == "reset" {
					require.ErrorIs(t, err, syscall.ECONNRESET)
				} else {
					require.Equal(t, io.EOF, err)
				}
			})
		}
	}
}

func ended(t *testing.T, c net.Conn, eof bool) (is bool) {
	rc, err := c.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, rc.Control(func(fd uintptr) {
		var l sock.Look
		l.Add(int(fd), eof)
		all, err := l.Ended()
		require.NoError(t, err)
		is = len(all) > 0
		require.True(t, !is || slices.Equal(all, []int{0}), all)
	}))
	return is
}

// A Look that the kernel refuses says so, and asks for nobody afterwards.
func TestALookThatFailsSaysSo(t *testing.T) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer syscall.Close(ends[0])
	require.NoError(t, syscall.Close(ends[1]))
	var l sock.Look
	look := func() ([]int, error) {
		l.Add(ends[0], true)
		return l.Ended()
	}
	all, err := look()
	require.NoError(t, err)
	require.Equal(t, []int{0}, all)

	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0 // poll refuses to look at more than that
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	all, err = look()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, err, syscall.EINVAL)
	require.Empty(t, all)

	all, err = look()
	require.NoError(t, err)
	require.Equal(t, []int{0}, all)
}

// A Look sees an urgent byte until the reader has passed it.
func TestALookSeesAnUrgentByte(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	peer, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer peer.Close()
	c, err := ln.Accept()
	require.NoError(t, err)
	defer c.Close()
	_, err = peer.Write([]byte("before"))
	require.NoError(t, err)
	require.False(t, ended(t, c, false))
	rc, err := peer.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, rc.Control(func(fd uintptr) { err = unix.Sendto(int(fd), []byte{'!'}, unix.MSG_OOB, nil) }))
	require.NoError(t, err)
	_, err = peer.Write([]byte("after"))
	require.NoError(t, err)
	conntest.Eventually(t, func() bool { return ended(t, c, false) })
	p := make([]byte, 6)
	_, err = io.ReadFull(c, p)
	require.NoError(t, err)
	require.True(t, ended(t, c, false), "the mark is still ahead")
	_, err = io.ReadFull(c, p[:5])
	require.NoError(t, err)
	require.Equal(t, "after", string(p[:5]))
	require.False(t, ended(t, c, false))
}
