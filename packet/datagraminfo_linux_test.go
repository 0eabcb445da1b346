package packet_test

import (
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// onFamilies runs a test for senders and receivers of each address family. A socket of both
// receives from either.
func onFamilies(t *testing.T, test func(t *testing.T, listen, dial string, ip netip.Addr)) {
	four, six := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	for name, c := range map[string]struct {
		listen, network string
		ip              netip.Addr
	}{
		"IPv4":         {"127.0.0.1:0", "udp4", four},
		"IPv6":         {"[::1]:0", "udp6", six},
		"IPv4 to both": {"[::]:0", "udp4", four},
		"IPv6 to both": {"[::]:0", "udp6", six},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ip.Is6() {
				pc, err := net.ListenPacket("udp6", "[::1]:0")
				if err != nil {
					t.Skip("this machine has no IPv6")
				}
				require.NoError(t, pc.Close())
			}
			test(t, c.listen, c.network, c.ip)
		})
	}
}

func wantAll(t *testing.T, r reporter, on bool) {
	require.NoError(t, r.WantDestination(on))
	require.NoError(t, r.WantECN(on))
	require.NoError(t, r.WantTTL(on))
	require.NoError(t, r.WantTimes(on))
}

// requireControl checks the ControlMessage of a datagram that was sent between the times.
func requireControl(t *testing.T, got packet.ControlMessage, ip netip.Addr, ecn, ttl uint8, after, before time.Time) {
	t.Helper()
	require.Equal(t, ip, got.To)
	require.Positive(t, got.Interface)
	require.Equal(t, ecn, got.ECN)
	require.Equal(t, ttl, got.TTL)
	const step = time.Second // the clock may be set meanwhile
	require.WithinRange(t, got.Time, after.Add(-step), before.Add(step))
}

func TestATaskReceivesTheInfoOfDatagrams(t *testing.T) {
	onFamilies(t, func(t *testing.T, listen, network string, ip netip.Addr) {
		conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
			f := newFixture(t, backend, workers)
			pc := listenUDP(t, networkOf(listen), listen)
			s, err := packet.ListenUDP(f, pc)
			require.NoError(t, err)
			t.Cleanup(func() { closeTaskSocket(t, s) })
			c := dialTaskUDP(t, f, netip.AddrPortFrom(ip, s.LocalAddr().Port()))
			require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
				recv := func() packet.ControlMessage {
					ms := []packet.Message[netip.AddrPort]{{Data: make([]byte, 10)}}
					n, err := s.RecvBatch(cx, ms)
					require.NoError(t, err)
					require.Equal(t, 1, n)
					require.Equal(t, "marked", string(ms[0].Data[:ms[0].N]))
					return ms[0].Control
				}
				send := func() { require.NoError(t, c.Send(cx, []byte("marked"))) }
				send()
				require.Equal(t, packet.ControlMessage{}, recv(), "nobody has asked")
				wantAll(t, s, true)
				for ecn := range 4 {
					require.NoError(t, c.SetECN(ecn))
					require.NoError(t, c.SetTTL(20+ecn))
					after := time.Now()
					send()
					requireControl(t, recv(), ip, uint8(ecn), uint8(20+ecn), after, time.Now())
				}
				wantAll(t, s, false)
				send()
				require.Equal(t, packet.ControlMessage{}, recv())
				requireOpError(t, c.SetECN(4), "set", syscall.EINVAL)
				requireOpError(t, c.SetTTL(0), "set", syscall.EINVAL)
				return nil
			})))
		})
	})
}

func networkOf(listen string) string {
	if strings.HasPrefix(listen, "[") {
		return "udp"
	}
	return "udp4"
}

// mark sets the ECN bits and the TTL of a socket of package net.
func mark(t *testing.T, c *net.UDPConn, ip netip.Addr, ecn, ttl int) {
	t.Helper()
	if ip.Is4() {
		setOption(t, c, unix.IPPROTO_IP, unix.IP_TOS, ecn)
		setOption(t, c, unix.IPPROTO_IP, unix.IP_TTL, ttl)
		return
	}
	setOption(t, c, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, ecn)
	setOption(t, c, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, ttl)
}

// The handler gets the infos of single datagrams, and of joined ones.
func TestAHandlerReceivesTheInfoOfDatagrams(t *testing.T) {
	onFamilies(t, func(t *testing.T, listen, network string, ip netip.Addr) {
		conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
			f, lives := packetFixture(t, backend, workers)
			infos := make(chan packet.ControlMessage, 100)
			h := &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
				for i := range batch {
					p := &batch[i]
					require.Equal(t, "marked", string(p.Data))
					infos <- packet.ControlMessage{To: p.To, Interface: p.Interface, ECN: p.ECN, TTL: p.TTL, Time: p.Time()}
				}
				return nil
			}}
			handle, at := servePacketsOn(t, f, networkOf(listen), listen, h)
			set := func(do func(c *packet.Conn)) {
				done := make(chan struct{})
				require.NoError(t, handle.Do(func(c *packet.Conn) { defer close(done); do(c) }))
				conntest.Receive(t, done)
			}
			peer, err := net.DialUDP(network, nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, at.Port())))
			require.NoError(t, err)
			defer peer.Close()
			write(t, peer, "marked")
			require.Equal(t, packet.ControlMessage{}, conntest.Receive(t, infos), "nobody has asked")
			for _, joins := range []bool{false, true} {
				set(func(c *packet.Conn) {
					wantAll(t, c, true)
					require.NoError(t, c.WantCoalesced(joins))
				})
				for ecn := range 4 {
					mark(t, peer, ip, ecn, 30+ecn)
					after := time.Now()
					if joins {
						_, _, err = peer.WriteMsgUDP([]byte(strings.Repeat("marked", 5)), segments(6), nil)
						require.NoError(t, err)
					} else {
						write(t, peer, "marked")
					}
					for range map[bool]int{false: 1, true: 5}[joins] {
						requireControl(t, conntest.Receive(t, infos), ip, uint8(ecn), uint8(30+ecn), after, time.Now())
					}
				}
			}
			set(func(c *packet.Conn) { wantAll(t, c, false) })
			write(t, peer, "marked")
			require.Equal(t, packet.ControlMessage{}, conntest.Receive(t, infos))

			// Datagrams of the handler's socket have its marks.
			other := listenUDP(t, network, net.JoinHostPort(ip.String(), "0"))
			own, err := packet.ListenUDP(f, other)
			require.NoError(t, err)
			t.Cleanup(func() { closeTaskSocket(t, own) })
			wantAll(t, own, true)
			after := time.Now()
			set(func(c *packet.Conn) {
				require.NoError(t, c.SetECN(2))
				require.NoError(t, c.SetTTL(9))
				require.NoError(t, c.WriteTo([]byte("back"), own.LocalAddr()))
			})
			ms := []packet.Message[netip.AddrPort]{{Data: make([]byte, 10)}}
			_, err = own.RecvBatch(t.Context(), ms)
			require.NoError(t, err)
			requireControl(t, ms[0].Control, ip, 2, 9, after, time.Now())
		})
	})
}
