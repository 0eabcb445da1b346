package conn_test

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestTheDestinationOfADatagramIsTold(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for network, to := range map[string]string{"udp4": "127.0.0.1", "udp6": "::1"} {
			f, lives := packetFixture(t, backend, 1)
			got := make(chan conn.Packet, 10)
			h := &packetFuncs{lives: lives,
				open: func(c *conn.PacketConn) error { return c.WantDestination(true) },
				packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
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
func opened(t *testing.T, h conn.PacketHandle) {
	t.Helper()
	ch := make(chan bool, 1)
	require.NoError(t, h.Do(func(*conn.PacketConn) { ch <- true }))
	conntest.Receive(t, ch)
}

func TestSegmentsComeAndGoAsDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		h := &packetFuncs{lives: lives, packets: echoPackets, open: func(c *conn.PacketConn) error {
			if err := c.WantCoalesced(true); !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		got := make(chan string, 1000)
		from := &packetFuncs{lives: lives, packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
			for _, p := range batch {
				got <- string(p.Data)
			}
			return nil
		}}
		handle, _ := servePackets(t, f, from)
		data := noise[:300*100+7]
		require.NoError(t, handle.Do(func(c *conn.PacketConn) {
			require.NoError(t, c.WriteSegments(data, 300, at))
		}))
		for rest := data; len(rest) > 0; {
			n := min(300, len(rest))
			require.Equal(t, string(rest[:n]), conntest.Receive(t, got))
			rest = rest[n:]
		}
	})
}

func TestMulticastReachesThoseWhoJoined(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lo, err := net.InterfaceByName("lo")
		require.NoError(t, err)
		f, lives := packetFixture(t, backend, 1)
		group := netip.MustParseAddr("239.255.77.1")
		got := make(chan string, 10)
		h := &packetFuncs{lives: lives,
			open: func(c *conn.PacketConn) error { return c.JoinGroup(lo, group) },
			packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
				for _, p := range batch {
					got <- string(p.Data)
				}
				return nil
			}}
		handle, at := servePacketsOn(t, f, "udp4", "0.0.0.0:0", h)
		opened(t, handle)
		sender, _ := servePackets(t, f, &packetFuncs{lives: lives, open: func(c *conn.PacketConn) error {
			require.ErrorIs(t, c.JoinGroup(lo, netip.MustParseAddr("127.0.0.1")), syscall.EINVAL)
			require.ErrorIs(t, c.SetMulticastTTL(256), syscall.EINVAL)
			return errors.Join(c.SetMulticastInterface(lo), c.SetMulticastTTL(1), c.SetMulticastLoopback(true),
				c.SetReadBuffer(1<<20), c.SetWriteBuffer(1<<20))
		}})
		to := netip.AddrPortFrom(group, at.Port())
		require.NoError(t, sender.Send([]byte("to all"), to))
		require.Equal(t, "to all", conntest.Receive(t, got))

		left := make(chan error, 1)
		require.NoError(t, handle.Do(func(c *conn.PacketConn) { left <- c.LeaveGroup(lo, group) }))
		require.NoError(t, conntest.Receive(t, left))
		require.NoError(t, sender.Send([]byte("to nobody"), to))
		require.NoError(t, sender.Send([]byte("to you"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())))
		require.Equal(t, "to you", conntest.Receive(t, got))
	})
}

// Where the kernel refuses segments, what was joined is sent singly.
func TestJoinedDatagramsAreSentSinglyWhereTheKernelRefusesSegments(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 10)
		h := &packetFuncs{lives: lives, fail: func(_ *conn.PacketConn, err error) error { fails <- err; return nil }}
		h.open = func(c *conn.PacketConn) error { return conn.NoChecksums(c) }
		handle, _ := servePackets(t, f, h)
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		for round := range 3 {
			require.NoError(t, handle.Do(func(c *conn.PacketConn) {
				for i := range 20 {
					require.NoError(t, c.WriteTo(noise[i:i+100], to))
				}
				require.NoError(t, c.WriteSegments(noise[20:20+250], 100, to))
				if round == 2 {
					require.NoError(t, c.Close(), "what has to be sent again is sent before the end")
				}
			}))
			p := make([]byte, 200)
			require.NoError(t, sink.SetReadDeadline(time.Now().Add(conntest.Patience)))
			for i := range 20 {
				n, err := sink.Read(p)
				require.NoError(t, err)
				require.Equal(t, noise[i:i+100], p[:n])
			}
			for rest := noise[20 : 20+250]; len(rest) > 0; {
				n, err := sink.Read(p)
				require.NoError(t, err)
				require.Equal(t, rest[:n], p[:n])
				rest = rest[n:]
			}
		}
		require.Empty(t, fails)
	})
}
