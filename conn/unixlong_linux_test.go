package conn_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// An abstract name may fill the kernel's 108 bytes, as in package net: it needs no NUL. A server
// listens there, and is dialed with such a name of the client.
func TestAnAbstractNameMayHave108Bytes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		name := func(end string) *net.UnixAddr {
			s := fmt.Sprintf("@suiro-%d-%s-", os.Getpid(), backend)
			return &net.UnixAddr{Name: s + strings.Repeat("x", 108-len(s)-len(end)) + end, Net: "unix"}
		}
		ln, err := net.ListenUnix("unix", name("server"))
		require.NoError(t, err)
		defer ln.Close()
		peers := make(chan string, 1)
		_, err = f.Listen(ln, funcs{open: func(c *conn.Conn) error {
			peers <- c.LocalAddr().String() + c.RemoteAddr().String()
			return nil
		}})
		require.NoError(t, err)
		_, err = f.Dial(name("server"), funcs{})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(conntest.Receive(t, peers), name("server").Name))
		s, err := f.DialUnix(t.Context(), conn.UnixDialConfig{Addr: name("server"), LocalAddr: name("client")})
		require.NoError(t, err)
		require.Equal(t, name("server").Name+name("client").Name, conntest.Receive(t, peers))
		require.NoError(t, s.Close())
	})
}
