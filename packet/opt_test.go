package packet_test

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

func TestTheDestinationOfADatagramIsReported(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for network, to := range map[string]string{"udp4": "127.0.0.1", "udp6": "::1"} {
			f, lives := packetFixture(t, backend, 1)
			got := make(chan packet.Packet, 10)
			h := &funcs{lives: lives,
				open: func(c *packet.Conn) error { return c.WantDestination(true) },
				packets: func(_ *packet.Conn, batch []packet.Packet) error {
					got <- batch[0]
					return nil
				}}
			handle, at := servePacketsOn(t, f, network, ":0", h)
			opened(t, handle)
			c := udpClient(t, netip.AddrPortFrom(netip.MustParseAddr(to), at.Port()))
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			p := conntest.Receive(t, got)
			require.Equal(t, to, p.To.String())
			require.NotZero(t, p.Interface)
		}
	})
}

// opened waits until OnOpen has run.
func opened(t *testing.T, h packet.Handle) {
	t.Helper()
	ch := make(chan bool, 1)
	require.NoError(t, h.Do(func(*packet.Conn) { ch <- true }))
	conntest.Receive(t, ch)
}

func TestSegmentsComeAndGoAsDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		h := &funcs{lives: lives, packets: echoPackets, open: func(c *packet.Conn) error {
			if err := c.WantCoalesced(true); !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		got := make(chan string, 1000)
		from := &funcs{lives: lives, packets: func(_ *packet.Conn, batch []packet.Packet) error {
			for _, p := range batch {
				got <- string(p.Data)
			}
			return nil
		}}
		handle, _ := servePackets(t, f, from)
		data := noise[:300*100+7]
		require.NoError(t, handle.Do(func(c *packet.Conn) {
			require.NoError(t, c.WriteSegments(data, 300, at))
		}))
		for rest := data; len(rest) > 0; {
			n := min(300, len(rest))
			require.Equal(t, string(rest[:n]), conntest.Receive(t, got))
			rest = rest[n:]
		}
	})
}

// loopback is the loopback interface, whatever its name.
func loopback(t *testing.T) *net.Interface {
	t.Helper()
	all, err := net.Interfaces()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 })
	require.GreaterOrEqual(t, i, 0, "no loopback interface")
	return &all[i]
}

func TestMulticastReachesSocketsThatJoined(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lo := loopback(t)
		f, lives := packetFixture(t, backend, 1)
		group := netip.MustParseAddr("239.255.77.1")
		got := make(chan string, 10)
		h := &funcs{lives: lives,
			open: func(c *packet.Conn) error { return c.JoinGroup(lo, group) },
			packets: func(_ *packet.Conn, batch []packet.Packet) error {
				for _, p := range batch {
					got <- string(p.Data)
				}
				return nil
			}}
		handle, at := servePacketsOn(t, f, "udp4", "0.0.0.0:0", h)
		opened(t, handle)
		sender, _ := servePackets(t, f, &funcs{lives: lives, open: func(c *packet.Conn) error {
			require.ErrorIs(t, c.JoinGroup(lo, netip.MustParseAddr("127.0.0.1")), syscall.EINVAL)
			require.ErrorIs(t, c.SetMulticastTTL(256), syscall.EINVAL)
			return errors.Join(c.SetMulticastInterface(lo), c.SetMulticastTTL(1), c.SetMulticastLoopback(true),
				c.SetReadBuffer(1<<20), c.SetWriteBuffer(1<<20))
		}})
		to := netip.AddrPortFrom(group, at.Port())
		require.NoError(t, sender.Send([]byte("to all"), to))
		require.Equal(t, "to all", conntest.Receive(t, got))

		left := make(chan error, 1)
		require.NoError(t, handle.Do(func(c *packet.Conn) { left <- c.LeaveGroup(lo, group) }))
		require.NoError(t, conntest.Receive(t, left))
		require.NoError(t, sender.Send([]byte("to nobody"), to))
		require.NoError(t, sender.Send([]byte("to you"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())))
		require.Equal(t, "to you", conntest.Receive(t, got))
	})
}

// A socket of both families sends to IPv4 groups, too.
func TestMulticastOfBothFamiliesLeavesOnTheInterface(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("an IPv6 socket of other systems may have no options of IPv4")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		lo := loopback(t)
		f, lives := packetFixture(t, backend, 1)
		group := netip.MustParseAddr("239.255.77.2")
		got := make(chan string, 10)
		receiver, at := servePacketsOn(t, f, "udp4", "0.0.0.0:0", &funcs{lives: lives,
			open: func(c *packet.Conn) error { return c.JoinGroup(lo, group) },
			packets: func(_ *packet.Conn, batch []packet.Packet) error {
				for _, p := range batch {
					got <- string(p.Data)
				}
				return nil
			}})
		opened(t, receiver)
		sender, _ := servePacketsOn(t, f, "udp", "[::]:0", &funcs{lives: lives,
			open: func(c *packet.Conn) error { return c.SetMulticastInterface(lo) },
			fail: func(_ *packet.Conn, err error) error { got <- err.Error(); return nil }})
		// Without the option the first datagram leaves elsewhere. The second one comes in any case.
		require.NoError(t, sender.Send([]byte("to all"), netip.AddrPortFrom(group, at.Port())))
		require.NoError(t, sender.Send([]byte("to you"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())))
		require.Equal(t, "to all", conntest.Receive(t, got))
	})
}
