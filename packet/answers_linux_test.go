package packet_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// answeringSessions is a SessionHandler that answers each datagram.
type answeringSessions struct{ opened, closed chan netip.Addr }

func (h *answeringSessions) OnOpen(s *packet.Session) error { h.opened <- s.Local(); return nil }

func (h *answeringSessions) OnPacket(s *packet.Session, p packet.Packet) error {
	_, err := s.Write(p.Data)
	return err
}

func (h *answeringSessions) OnClose(s *packet.Session, _ error) { h.closed <- s.Local() }

func newAnsweringSessions() *answeringSessions {
	return &answeringSessions{make(chan netip.Addr, 100), make(chan netip.Addr, 100)}
}

// answerers are handlers that answer each datagram once, each by another method.
func answerers(lives *audit) map[string]packet.Handler {
	var later packet.Handle
	return map[string]packet.Handler{
		"WriteTo": &funcs{lives: lives, packets: echoPackets},
		"WriteTo, the last first": &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
			for _, p := range slices.Backward(batch) {
				if err := c.WriteTo(p.Data, p.From); err != nil {
					return err
				}
			}
			return nil
		}},
		"WriteTo, mapped addresses": &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
			for _, p := range batch {
				if err := c.WriteTo(p.Data, mapped(p.From)); err != nil {
					return err
				}
			}
			return nil
		}},
		"WriteSegments": &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
			for _, p := range batch {
				if err := c.WriteSegments(p.Data, len(p.Data), p.From); err != nil {
					return err
				}
			}
			return nil
		}},
		"SendFrom": &funcs{lives: lives, open: func(c *packet.Conn) error { later = c.Handle(); return c.WantDestination(true) },
			packets: func(_ *packet.Conn, batch []packet.Packet) error {
				for _, p := range batch {
					if err := later.SendFrom(p.Data, p.To, p.From); err != nil {
						return err
					}
				}
				return nil
			}},
		"Session": &packet.Sessions{Handler: newAnsweringSessions()},
		"Peer": &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			b := make([]byte, 100)
			for {
				n, err := p.Recv(cx, b)
				if err != nil {
					return nil
				}
				if err := p.Send(b[:n]); err != nil {
					return err
				}
			}
		})},
	}
}

// anywhere are the networks of sockets that are bound to an unspecified address, and addresses of
// this host for each.
var anywhere = map[string][]string{
	"udp4": {"127.0.0.2", "127.0.0.1", "127.0.0.3"},
	"udp":  {"127.0.0.2", "::1", "127.0.0.1"},
	"udp6": {"::1"},
}

// An answer leaves from the address that was asked, also if one client asks at several.
func TestAnAnswerLeavesFromTheAddressThatWasAsked(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for network, hosts := range anywhere {
			f, lives := packetFixture(t, backend, 2)
			for name, h := range answerers(lives) {
				_, at := servePacketsOn(t, f, network, ":0", h)
				client := listenUDP(t, network, ":0")
				require.NoError(t, client.SetDeadline(time.Now().Add(conntest.Patience)))
				want := map[string]int{}
				for i := range 10 * len(hosts) {
					to := netip.AddrPortFrom(netip.MustParseAddr(hosts[i/2%len(hosts)]), at.Port())
					text := fmt.Sprint(to.Addr(), " ", i)
					want[text]++
					_, err := client.WriteToUDPAddrPort([]byte(text), to)
					require.NoError(t, err)
				}
				for range want {
					text, from := hears(t, client)
					require.Equal(t, 1, want[text], text)
					want[text]--
					require.Contains(t, text, from.Addr().Unmap().String()+" ", "%s, %s", network, name)
				}
			}
		}
	})
}

// A datagram to another peer than the batch's senders leaves from where the kernel chooses.
func TestADatagramToAnotherPeerLeavesFromWhereTheKernelChooses(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		other := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, other.SetDeadline(time.Now().Add(conntest.Patience)))
		_, at := servePacketsOn(t, f, "udp4", ":0", &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
			return c.WriteTo(batch[0].Data, addrOf(other))
		}})
		client := listenUDP(t, "udp4", "127.0.0.1:0")
		_, err := client.WriteToUDPAddrPort([]byte("on"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), at.Port()))
		require.NoError(t, err)
		text, from := hears(t, other)
		require.Equal(t, "on", text)
		require.Equal(t, "127.0.0.1", from.Addr().String())
	})
}

// Addresses of groups and broadcasts are no sources: the kernel chooses one.
func TestAGroupOrABroadcastAddressIsNoSource(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skip(err)
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, network := range []string{"udp4", "udp"} {
			f, lives := packetFixture(t, backend, 1)
			for name, h := range answerers(lives) {
				if name == "SendFrom" {
					continue // it has the user's source
				}
				handle, at := servePacketsOn(t, f, network, ":0", h)
				client := listenUDP(t, "udp4", "127.0.0.1:0")
				require.NoError(t, client.SetDeadline(time.Now().Add(conntest.Patience)))
				hosts := []string{"127.255.255.255"}
				if network == "udp4" {
					joined := make(chan error, 1)
					require.NoError(t, handle.Do(func(c *packet.Conn) { joined <- c.JoinGroup(lo, netip.MustParseAddr("224.0.0.97")) }))
					require.NoError(t, conntest.Receive(t, joined))
					require.NoError(t, ipv4.NewPacketConn(client).SetMulticastInterface(lo))
					hosts = append(hosts, "224.0.0.97")
				}
				for _, host := range hosts {
					_, err := client.WriteToUDPAddrPort([]byte(host), netip.AddrPortFrom(netip.MustParseAddr(host), at.Port()))
					require.NoError(t, err)
					text, from := hears(t, client)
					require.Equal(t, host, text, name)
					require.Equal(t, "127.0.0.1", from.Addr().String(), name)
				}
			}
		}
	})
}

// A client that asks at two addresses has a session for each. They end singly.
func TestAClientThatAsksAtTwoAddressesHasTwoSessions(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := packetFixture(t, backend, 1)
		h := newAnsweringSessions()
		sessions := &packet.Sessions{Handler: h}
		handle, at := servePacketsOn(t, f, "udp4", ":0", sessions)
		client := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, client.SetDeadline(time.Now().Add(conntest.Patience)))
		one, two := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
		ask := func(host netip.Addr) {
			_, err := client.WriteToUDPAddrPort([]byte("x"), netip.AddrPortFrom(host, at.Port()))
			require.NoError(t, err)
			_, from := hears(t, client)
			require.Equal(t, host, from.Addr())
		}
		for range 3 {
			ask(one)
			ask(two)
		}
		require.Equal(t, 2, sessions.Len())
		require.Equal(t, one, conntest.Receive(t, h.opened))
		require.Equal(t, two, conntest.Receive(t, h.opened))
		for _, local := range []netip.Addr{two, one} {
			require.NoError(t, handle.Do(func(c *packet.Conn) {
				s := sessions.Session(c, addrOf(client))
				require.Equal(t, local, s.Local())
				s.Close()
			}))
			require.Equal(t, local, conntest.Receive(t, h.closed))
		}
		require.Zero(t, sessions.Len())
		ask(two)
		require.Equal(t, two, conntest.Receive(t, h.opened))
	})
}

// A datagram whose source is unknown counts for all sessions of its receiver, also if the last one
// that was used has no address of this host.
func TestADatagramOfAnUnknownSourceKeepsAllSessions(t *testing.T) {
	const idle = time.Minute
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := pausedFixture(t, backend)
		lo, group := loopback(t), netip.MustParseAddr("239.255.77.3")
		h := newAnsweringSessions()
		sessions := &packet.Sessions{Handler: h, Idle: idle, CountSent: true}
		handle, at := servePacketsOn(t, f, "udp4", ":0", sessions)
		joined := make(chan error, 1)
		require.NoError(t, handle.Do(func(c *packet.Conn) { joined <- c.JoinGroup(lo, group) }))
		require.NoError(t, conntest.Receive(t, joined))
		client := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, client.SetDeadline(time.Now().Add(conntest.Patience)))
		require.NoError(t, ipv4.NewPacketConn(client).SetMulticastInterface(lo))
		for _, host := range []netip.Addr{group, netip.MustParseAddr("127.0.0.1"), group} {
			_, err := client.WriteToUDPAddrPort([]byte("x"), netip.AddrPortFrom(host, at.Port()))
			require.NoError(t, err)
			hears(t, client)
		}
		require.Equal(t, 2, sessions.Len())
		f.Runtime().Advance(idle / 2)
		require.NoError(t, handle.Send([]byte("x"), addrOf(client)))
		hears(t, client)
		f.Runtime().Advance(idle / 2)
		f.rounds(3) // the timer has fired
		left := make(chan int, 1)
		require.NoError(t, handle.Do(func(*packet.Conn) { left <- sessions.Len() }))
		require.Equal(t, 2, conntest.Receive(t, left))
		f.Runtime().Advance(idle / 2)
		conntest.Receive(t, h.closed)
		conntest.Receive(t, h.closed)
	})
}

// Dialed sockets may send to a broadcast address, as those of package net.
func TestADialedSocketSendsToABroadcastAddress(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		peer := listenUDP(t, "udp4", ":0")
		require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
		to := netip.AddrPortFrom(netip.MustParseAddr("127.255.255.255"), addrOf(peer).Port())
		h, err := packet.Dial(f, to, &funcs{lives: lives})
		require.NoError(t, err)
		require.NoError(t, h.Send([]byte("handler"), netip.AddrPort{}))
		u, err := packet.DialUDP(f, to)
		require.NoError(t, err)
		require.NoError(t, u.TrySend([]byte("task")))
		s, err := packet.DialSocket(f, to)
		require.NoError(t, err)
		_, err = s.Write([]byte("socket"))
		require.NoError(t, err)
		got := map[string]bool{}
		for range 3 {
			text, _ := hears(t, peer)
			got[text] = true
		}
		require.Equal(t, map[string]bool{"handler": true, "task": true, "socket": true}, got)
	})
}
