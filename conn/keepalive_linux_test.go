package conn_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// probesOf is how the kernel probes a connection's peer: whether, after how many seconds, in
// what interval, and how often.
func probesOf(t *testing.T, c net.Conn) (all [4]int) {
	require.NoError(t, rawOf(t, c).Control(func(fd uintptr) {
		for i, o := range [4][2]int{{unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT}} {
			n, err := unix.GetsockoptInt(int(fd), o[0], o[1])
			require.NoError(t, err)
			all[i] = n
		}
	}))
	return all
}

// Zero fields of a net.KeepAliveConfig mean package net's defaults. A negative field leaves the
// setting as it is.
func TestKeepAliveIsAsNets(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, _ := pair("tcp")
		tcp := a.(interface {
			SetKeepAlive(bool) error
			SetKeepAlivePeriod(time.Duration) error
			SetKeepAliveConfig(net.KeepAliveConfig) error
		})
		set := func(k net.KeepAliveConfig) [4]int {
			require.NoError(t, tcp.SetKeepAliveConfig(k))
			return probesOf(t, a)
		}
		require.Equal(t, [4]int{1, 70, 20, 3}, set(net.KeepAliveConfig{Enable: true, Idle: 70 * time.Second, Interval: 20 * time.Second, Count: 3}))
		require.Equal(t, [4]int{1, 15, 20, 3}, set(net.KeepAliveConfig{Enable: true, Interval: -1, Count: -1}))
		require.Equal(t, [4]int{1, 15, 15, 3}, set(net.KeepAliveConfig{Enable: true, Idle: -1, Count: -1}))
		require.Equal(t, [4]int{1, 15, 15, 9}, set(net.KeepAliveConfig{Enable: true, Idle: -1, Interval: -1}))
		require.Equal(t, [4]int{1, 2, 1, 9}, set(net.KeepAliveConfig{Enable: true, Idle: 1100 * time.Millisecond, Interval: time.Millisecond, Count: -1}), "rounded up")
		require.Equal(t, [4]int{1, 15, 15, 9}, set(net.KeepAliveConfig{Enable: true, Count: -1}))
		require.NoError(t, tcp.SetKeepAlivePeriod(time.Minute))
		require.Equal(t, [4]int{1, 60, 15, 9}, probesOf(t, a))
		require.NoError(t, tcp.SetKeepAlive(false))
		require.Zero(t, probesOf(t, a)[0])
		require.NoError(t, tcp.SetKeepAlive(true))
		require.Equal(t, [4]int{1, 60, 15, 9}, probesOf(t, a))
		require.Equal(t, [4]int{1, 15, 15, 9}, set(net.KeepAliveConfig{Enable: true}))
	})
}
