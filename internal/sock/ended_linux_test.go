package sock_test

import (
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/sock"
)

// Ended sees an end behind bytes that are unread, and leaves both for the reader.
func TestEndedLooksAndTakesNothing(t *testing.T) {
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
	require.NoError(t, rc.Control(func(fd uintptr) { is = sock.Ended(int(fd), eof) }))
	return is
}
