package conn_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// segmentsOf is how many segments with data a connection of package net has received.
func segmentsOf(t *testing.T, c net.Conn) (n int) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Error(err)
			return
		}
		n = int(info.Data_segs_in)
	}))
	return n
}

// answerInPieces writes in small pieces, after one byte, until the peer finishes.
func answerInPieces(s *conn.Stream) error {
	for {
		if p, err := s.Next(1); len(p) == 0 {
			return errors.Join(err, s.Close())
		}
		for range 20 {
			if _, err := s.Write([]byte("ab")); err != nil {
				return err
			}
		}
	}
}

// A send of the kernel is one segment here, since the connections have TCP_NODELAY.
func TestSmallWritesBetweenTwoWaitsLeaveAsOneSend(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		exchange := func(t *testing.T, c net.Conn) {
			for range 10 {
				before := segmentsOf(t, c)
				write(t, c, "x")
				require.Equal(t, strings.Repeat("ab", 20), string(read(t, c, 40)))
				require.Equal(t, 1, segmentsOf(t, c)-before)
			}
			require.NoError(t, c.Close())
		}
		t.Run("dialed", func(t *testing.T) {
			f := newFixture(t, backend, 2)
			ln := conntest.Listen(t)
			f.addr = ln.Addr()
			ended := make(chan error, 1)
			go func() {
				ended <- f.tasks(func(cx *sched.Context) error {
					s, err := f.dialStream(cx)
					if err != nil {
						return err
					}
					return answerInPieces(s)
				})
			}()
			c, err := ln.Accept()
			require.NoError(t, err)
			exchange(t, c)
			_ = conntest.Receive(t, ended) // io.EOF
		})
		t.Run("a handler's", func(t *testing.T) {
			f := sequential(t, backend, 2, func(_ *sched.Context, s *conn.Stream) error { return answerInPieces(s) })
			exchange(t, f.dial())
		})
		t.Run("shared", func(t *testing.T) {
			f := sequential(t, backend, 2, func(cx *sched.Context, s *conn.Stream) error {
				s.Socket()
				_, err := sched.Await(cx, sched.Yield())
				return errors.Join(err, answerInPieces(s))
			})
			exchange(t, f.dial())
		})
	})
}
