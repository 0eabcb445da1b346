package packet_test

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/packet"
)

// An error of an earlier datagram costs none of those that are sent next: all arrive, in order.
func TestAnErrorOfAnEarlierDatagramCostsNoOther(t *testing.T) {
	onReports(t, func(t *testing.T, backend string, peer *net.UDPConn, errno syscall.Errno, send func(netip.AddrPort)) {
		f, lives := packetFixture(t, backend, 1)
		fails := make(chan error, 100)
		handle, err := packet.Dial(f, addrOf(peer), &funcs{lives: lives, fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }})
		require.NoError(t, err)
		for name, sizes := range map[string][]int{
			"one": {100}, "joined": {100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, "single": {10, 20, 30, 40, 50, 60},
			"mixed": {100, 100, 50, 200, 200, 200, 10},
		} {
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				send(handle.LocalAddr())
				for i, size := range sizes {
					require.NoError(t, c.WriteTo(noise[i:i+size], netip.AddrPort{}))
				}
			}))
			for i, size := range sizes {
				text, _ := hears(t, peer)
				require.Equal(t, string(noise[i:i+size]), text, "%s, %d", name, i)
			}
			require.ErrorIs(t, conntest.Receive(t, fails), errno, name)
		}
		require.Empty(t, fails)
	})
}

// Segments that the kernel refuses leave as single datagrams, before the datagrams that follow.
func TestRefusedSegmentsAreNotOvertaken(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 100)
		handle, _ := servePackets(t, f, &funcs{lives: lives, open: func(c *packet.Conn) error { return packet.NoChecksums(c) },
			fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }})
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, sink.SetDeadline(time.Now().Add(conntest.Patience)))
		sizes := []int{100, 100, 100, 300, 50, 50, 20, 400}
		for range 2 {
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				for i, size := range sizes {
					require.NoError(t, c.WriteTo(noise[i:i+size], addrOf(sink)))
				}
			}))
			for i, size := range sizes {
				text, _ := hears(t, sink)
				require.Equal(t, string(noise[i:i+size]), text, i)
			}
		}
		require.Empty(t, fails)
	})
}

// A severed socket ends, and OnError does not get the errors of the inert one in its place.
func TestASeveredSocketEnds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails, closed, opened := make(chan error, 100), make(chan error, 1), make(chan bool, 1)
		handle, _ := servePackets(t, f, &funcs{lives: lives, open: func(*packet.Conn) error { opened <- true; return nil },
			fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }, close: func(_ *packet.Conn, err error) { closed <- err }})
		conntest.Receive(t, opened)
		engine.Reveal(f).TellAll(engine.Sever)
		// With epoll, only a receive that begins on the inert socket fails by itself.
		if err := handle.Abort(); err != nil {
			require.ErrorIs(t, err, net.ErrClosed)
		}
		require.ErrorIs(t, conntest.Receive(t, closed), net.ErrClosed)
		require.Empty(t, fails)
	})
}
