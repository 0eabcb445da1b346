package packet_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// An abstract name may fill the kernel's 108 bytes, as in package net: it needs no NUL.
func TestAnAbstractNameMayHave108Bytes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		name := func(end string) string {
			s := fmt.Sprintf("@suiro-%d-%s-", os.Getpid(), backend)
			return s + strings.Repeat("x", 108-len(s)-len(end)) + end
		}
		pc, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name("server"), Net: "unixgram"})
		require.NoError(t, err)
		defer pc.Close()
		s, err := packet.ListenUnixgram(f, pc)
		require.NoError(t, err)
		require.Equal(t, name("server"), s.LocalAddr())
		c, err := packet.DialUnixgram(f, name("client"), name("server"))
		require.NoError(t, err)
		require.Equal(t, name("client"), c.LocalAddr())
		require.Equal(t, name("server"), c.RemoteAddr())

		require.NoError(t, c.Send(t.Context(), []byte("question")))
		p := make([]byte, 16)
		n, from, err := s.RecvFrom(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "question", string(p[:n]))
		require.Equal(t, name("client"), from)
		require.NoError(t, s.SendTo(t.Context(), []byte("answer"), from))
		n, err = c.Recv(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "answer", string(p[:n]))
		_, err = packet.DialUnixgram(f, "", name("server")+"y")
		require.ErrorContains(t, err, "invalid argument")
	})
}
