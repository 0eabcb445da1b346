package packet_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// Where the kernel refuses segments, joined datagrams are sent singly.
func TestJoinedDatagramsAreSentSinglyWhereTheKernelRefusesSegments(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 10)
		h := &funcs{lives: lives, fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }}
		h.open = func(c *packet.Conn) error { return packet.NoChecksums(c) }
		handle, _ := servePackets(t, f, h)
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		for round := range 3 {
			require.NoError(t, handle.Do(func(c *packet.Conn) {
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

// The zone of an IPv6 group names the interface, unless the caller does.
func TestAGroupIsJoinedOnTheInterfaceOfItsZone(t *testing.T) {
	lo := loopback(t)
	memberships := func(group string) (on []string) {
		b, err := os.ReadFile("/proc/net/igmp6")
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 2 && f[2] == group {
				on = append(on, f[1])
			}
		}
		return on
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		group := fmt.Sprintf("ff02::77:%x", os.Getpid()&0xfff|0x1000)
		listed := "ff02000000000000000000000077" + group[len("ff02::77:"):]
		for _, ifi := range []*net.Interface{nil, lo} {
			joined, left := make(chan error, 2), make(chan error, 1)
			handle, _ := servePacketsOn(t, f, "udp6", "[::]:0", &funcs{lives: lives, open: func(c *packet.Conn) error {
				joined <- c.JoinGroup(nil, netip.MustParseAddr(group+"%nosuchzone"))
				joined <- c.JoinGroup(ifi, netip.MustParseAddr(group+"%"+lo.Name))
				return nil
			}})
			require.ErrorIs(t, conntest.Receive(t, joined), syscall.ENODEV)
			require.NoError(t, conntest.Receive(t, joined))
			require.Equal(t, []string{lo.Name}, memberships(listed))
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				left <- c.LeaveGroup(ifi, netip.MustParseAddr(group+"%"+lo.Name))
			}))
			require.NoError(t, conntest.Receive(t, left))
			require.Empty(t, memberships(listed))
		}
	})
}
