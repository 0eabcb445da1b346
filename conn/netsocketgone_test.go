package conn_test

import (
	"net"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A Socket that the group has ended refuses deadlines, and one that was set before, for a time
// far off, does not keep it in memory.
func TestASocketThatTheGroupHasEndedHasNoDeadlines(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		forgotten := func() weak.Pointer[conn.Socket] {
			c, err := net.Dial("tcp", f.addr.String())
			require.NoError(t, err)
			defer c.Close()
			a, err := l.Accept()
			require.NoError(t, err)
			require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
			read := make(chan error, 1)
			go func() { _, err := a.Read(make([]byte, 1)); read <- err }()
			f.Abort()
			require.ErrorIs(t, conntest.Receive(t, read), net.ErrClosed)
			for _, set := range []func(time.Time) error{a.SetDeadline, a.SetReadDeadline, a.SetWriteDeadline} {
				err := set(time.Now().Add(time.Hour))
				require.ErrorIs(t, err, net.ErrClosed)
				require.ErrorAs(t, err, new(*net.OpError))
			}
			return weak.Make(a.(*conn.Socket))
		}()
		conntest.Eventually(t, func() bool { runtime.GC(); return forgotten.Value() == nil })
	})
}

// As with package net, a Socket whose peer has ended it takes deadlines, and they hold.
func TestASocketThatItsPeerHasEndedHasDeadlines(t *testing.T) {
	onSocketGroups(t, []int{1}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		c, err := net.Dial("tcp", f.addr.String())
		require.NoError(t, err)
		a, err := l.Accept()
		require.NoError(t, err)
		defer a.Close()
		require.NoError(t, c.(*net.TCPConn).SetLinger(0))
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 }, f.report)
		require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
	})
}
