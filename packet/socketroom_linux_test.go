//go:build !kqueue

package packet_test

import (
	"net"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// A socket whose reader is slow keeps little, whether its datagrams were joined or not.
func TestUnreadDatagramsTakeLittleMemory(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		const sockets = 64
		heap := func() (bytes int64) { // may shrink: what earlier tests left is collected
			for range 4 { // a pool forgets after two collections
				runtime.GC()
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		for name, c := range map[string]struct {
			send func(to net.Addr)
			most int64 // bytes for each socket
		}{
			"single": {func(to net.Addr) {
				for range 2 {
					_, err := peer.WriteTo(noise[:1200], to)
					require.NoError(t, err)
				}
			}, 48 << 10},
			"joined": {func(to net.Addr) { sendJoined(t, peer, to, 50) }, 104 << 10},
		} {
			before := heap()
			all := make([]*packet.Socket, sockets)
			p := make([]byte, 2000)
			for i := range all {
				s := openSocket(t, f)
				all[i] = s
				if name == "joined" { // the first read asks the kernel to join
					_, err := peer.WriteTo(noise[:1], s.LocalAddr())
					require.NoError(t, err)
					_, _, err = s.ReadFrom(p)
					require.NoError(t, err)
				}
				c.send(s.LocalAddr())
				_, _, err := s.ReadFrom(p)
				require.NoError(t, err)
				require.True(t, packet.HasArrivals(s))
			}
			require.Less(t, (heap()-before)/sockets, c.most, name)
			for _, s := range all {
				require.NoError(t, s.Close())
			}
		}
	})
}

// Datagrams of all lengths around that of the room's parts arrive whole, joined or not.
func TestDatagramsOfAllLengthsArriveWhole(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		p := make([]byte, 1<<16)
		for _, size := range []int{0, 1, 1535, 1536, 1537, 2047, 2048, 3073, 4095, 4096, 4097, 65507} {
			for range 2 { // in one call, mostly
				_, err := peer.WriteTo(noise[size:][:size], s.LocalAddr())
				require.NoError(t, err)
			}
			for range 2 {
				n, _, err := s.ReadFrom(p)
				require.NoError(t, err)
				require.Equal(t, string(noise[size:][:size]), string(p[:n]))
			}
		}
		for _, segment := range []int{511, 512, 513, 1000, 1024, 1472, 1535, 1536, 1537, 2047, 2048, 2049, 5000} {
			total := min(60*segment, 60000) + 3
			_, _, err := peer.WriteMsgUDP(noise[:total], segments(segment), s.LocalAddr().(*net.UDPAddr))
			require.NoError(t, err)
			for rest := noise[:total]; len(rest) > 0; {
				want := rest[:min(segment, len(rest))]
				rest = rest[len(want):]
				ms := batchOf(1)
				ms[0].Buffers[0] = make([]byte, 700) // the rest is in the second one
				ms[0].Buffers[1] = make([]byte, 6000)
				n, err := s.ReadBatch(ms, 0)
				require.NoError(t, err)
				require.Equal(t, 1, n)
				got := append(append([]byte(nil), ms[0].Buffers[0]...), ms[0].Buffers[1]...)[:ms[0].N]
				require.Equal(t, string(want), string(got), segment)
			}
		}
	})
}

// Control messages that do not fit are said to be lost, as by package net.
func TestTooManyControlMessagesAreFlagged(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := openSocket(t, newFixture(t, backend, workers))
		reference := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, reference.SetDeadline(time.Now().Add(conntest.Patience)))
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, rawOf(t, peer).Control(func(fd uintptr) { // options that arrive as control messages
			nops := make([]byte, 40)
			for i := range nops {
				nops[i] = 1
			}
			require.NoError(t, unix.SetsockoptString(int(fd), unix.IPPROTO_IP, unix.IP_OPTIONS, string(nops)))
		}))
		type messenger interface {
			LocalAddr() net.Addr
			ReadMsgUDP(p, oob []byte) (n, oobn, flags int, from *net.UDPAddr, err error)
		}
		read := func(m messenger, room int) (controlled, flags int) {
			_, err := peer.WriteTo([]byte("x"), m.LocalAddr())
			require.NoError(t, err)
			n, controlled, flags, _, err := m.ReadMsgUDP(make([]byte, 10), make([]byte, room))
			require.NoError(t, err)
			require.Equal(t, 1, n)
			return controlled, flags
		}
		for _, c := range []interface {
			messenger
			syscall.Conn
		}{s, reference} {
			for _, option := range []int{unix.IP_PKTINFO, unix.IP_RECVTTL, unix.IP_RECVTOS, unix.IP_RECVOPTS, unix.IP_RETOPTS, unix.IP_RECVORIGDSTADDR} {
				setOption(t, c, unix.IPPROTO_IP, option, 1)
			}
			setOption(t, c, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		}
		whole, flags := read(reference, 1000)
		require.Zero(t, flags)
		require.Less(t, whole, 256)
		got, flags := read(s, 1000)
		require.Equal(t, whole, got)
		require.Zero(t, flags)

		for _, c := range []syscall.Conn{s, reference} {
			setOption(t, c, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_RX_SOFTWARE)
		}
		whole, _ = read(reference, 1000)
		if strconv.IntSize == 32 {
			t.Skipf("all messages fit in, with %d bytes: their heads are shorter", whole)
		}
		require.Greater(t, whole, 256)
		_, flags = read(reference, 256)
		require.Equal(t, unix.MSG_CTRUNC, flags)
		got, flags = read(s, 1000)
		require.Equal(t, unix.MSG_CTRUNC, flags)
		require.Positive(t, got)
	})
}
