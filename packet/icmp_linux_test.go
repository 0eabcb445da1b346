package packet_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A report is an ICMP message about a datagram, and the errno that the kernel makes of it.
type report struct {
	kind  icmp.Type
	code  int
	errno syscall.Errno
}

// reports are the messages that the kernel reports to a connected socket.
func reports(network string) []report {
	if network == "udp6" {
		return []report{
			{ipv6.ICMPTypeDestinationUnreachable, 1, syscall.EACCES},
			{ipv6.ICMPTypeDestinationUnreachable, 4, syscall.ECONNREFUSED},
			{ipv6.ICMPTypeParameterProblem, 1, syscall.EPROTO},
		}
	}
	return []report{
		{ipv4.ICMPTypeDestinationUnreachable, 2, syscall.ENOPROTOOPT},
		{ipv4.ICMPTypeDestinationUnreachable, 3, syscall.ECONNREFUSED},
		{ipv4.ICMPTypeDestinationUnreachable, 6, syscall.ENETUNREACH},
		{ipv4.ICMPTypeDestinationUnreachable, 7, syscall.EHOSTDOWN},
		{ipv4.ICMPTypeDestinationUnreachable, 8, syscall.ENONET},
		{ipv4.ICMPTypeDestinationUnreachable, 10, syscall.EHOSTUNREACH},
		{ipv4.ICMPTypeParameterProblem, 0, syscall.EPROTO},
	}
}

// onReports runs a test for each backend, family and message. The test gets a peer, and a function
// that sends the message about a datagram to that peer. The kernel has seen it when the function
// returns.
func onReports(t *testing.T, test func(t *testing.T, backend string, peer *net.UDPConn, errno syscall.Errno, send func(from netip.AddrPort))) {
	t.Helper()
	conntest.Backends(t, func(t *testing.T, backend string) {
		for network, host := range map[string]string{"udp4": "127.0.0.1", "udp6": "::1"} {
			for _, r := range reports(network) {
				t.Run(fmt.Sprintf("%s/%v", network, r.errno), func(t *testing.T) {
					peer := listenUDP(t, network, net.JoinHostPort(host, "0"))
					require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
					test(t, backend, peer, r.errno, func(from netip.AddrPort) { sendReport(t, r, from, addrOf(peer)) })
				})
			}
		}
	})
}

func addrOf(pc *net.UDPConn) netip.AddrPort { return pc.LocalAddr().(*net.UDPAddr).AddrPort() }

// sendReport sends an ICMP message about a datagram between two loopback addresses.
func sendReport(t *testing.T, r report, from, to netip.AddrPort) {
	t.Helper()
	network, protocol := "ip4:icmp", 1
	if to.Addr().Is6() {
		network, protocol = "ip6:ipv6-icmp", 58
	}
	raw, err := icmp.ListenPacket(network, to.Addr().String())
	if errors.Is(err, os.ErrPermission) {
		t.Skip("raw sockets are not permitted")
	}
	require.NoError(t, err)
	defer raw.Close()
	m := icmp.Message{Type: r.kind, Code: r.code, Body: &icmp.RawBody{Data: append(make([]byte, 4), headers(from, to)...)}}
	var pseudo []byte
	if protocol == 58 {
		pseudo = icmp.IPv6PseudoHeader(to.Addr().AsSlice(), from.Addr().AsSlice())
	}
	b, err := m.Marshal(pseudo)
	require.NoError(t, err)
	_, err = raw.WriteTo(b, &net.IPAddr{IP: from.Addr().AsSlice()})
	require.NoError(t, err)
}

// headers are the first bytes of a datagram's packet.
func headers(from, to netip.AddrPort) (h []byte) {
	if to.Addr().Is4() {
		h = append(h, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0)
	} else {
		h = append(h, 0x60, 0, 0, 0, 0, 8, 17, 64)
	}
	h = append(append(h, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	h = binary.BigEndian.AppendUint16(h, from.Port())
	h = binary.BigEndian.AppendUint16(h, to.Port())
	return append(h, 0, 8, 0, 0)
}

// hears reports the next datagram of a peer.
func hears(t *testing.T, peer *net.UDPConn) (text string, from netip.AddrPort) {
	t.Helper()
	p := make([]byte, 1<<16)
	n, from, err := peer.ReadFromUDPAddrPort(p)
	require.NoError(t, err)
	return string(p[:n]), from
}

// An ICMP message of any kind is an error of one datagram: OnError gets it, and the socket lives.
func TestAnICMPMessageOfAnyKindDoesNotEndAHandlersSocket(t *testing.T) {
	onReports(t, func(t *testing.T, backend string, peer *net.UDPConn, errno syscall.Errno, send func(netip.AddrPort)) {
		f, lives := packetFixture(t, backend, 1)
		fails, opened := make(chan error, 10), make(chan bool, 1)
		handle, err := packet.Dial(f, addrOf(peer), &funcs{lives: lives, packets: echoToPeer,
			open: func(*packet.Conn) error { opened <- true; return nil },
			fail: func(_ *packet.Conn, err error) error { fails <- err; return nil }})
		require.NoError(t, err)
		conntest.Receive(t, opened)
		for range 3 {
			send(handle.LocalAddr())
			require.ErrorIs(t, conntest.Receive(t, fails), errno)
			_, err = peer.WriteToUDPAddrPort([]byte("hello"), handle.LocalAddr())
			require.NoError(t, err)
			got, _ := hears(t, peer)
			require.Equal(t, "hello", got)
		}
		require.Empty(t, fails)
	})
}

func echoToPeer(c *packet.Conn, batch []packet.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, netip.AddrPort{}); err != nil {
			return err
		}
	}
	return nil
}

// A socket of tasks or goroutines returns the error of an ICMP message once, and lives.
func TestAnICMPMessageOfAnyKindDoesNotEndACallersSocket(t *testing.T) {
	onReports(t, func(t *testing.T, backend string, peer *net.UDPConn, errno syscall.Errno, send func(netip.AddrPort)) {
		f := newFixture(t, backend, 1)
		task, err := packet.DialUDP(f, addrOf(peer))
		require.NoError(t, err)
		socket, err := packet.DialSocket(f, addrOf(peer))
		require.NoError(t, err)
		p := make([]byte, 100)
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			for range 2 {
				send(task.LocalAddr())
				_, err := task.Recv(cx, p)
				require.ErrorIs(t, err, errno)
				send(task.LocalAddr())
				require.ErrorIs(t, firstError(func() error { return task.Send(cx, []byte(early)) }), errno)
				require.NoError(t, task.Send(cx, []byte("task")))
				require.Equal(t, "task", hearsLate(t, peer))
			}
			return nil
		})))
		at := socket.LocalAddr().(*net.UDPAddr).AddrPort()
		for range 2 {
			send(at)
			_, err = socket.Read(p)
			require.ErrorIs(t, err, errno)
			send(at)
			require.ErrorIs(t, firstError(func() error {
				_, err := socket.Write([]byte(early))
				return err
			}), errno)
			_, err = socket.Write([]byte("socket"))
			require.NoError(t, err)
			require.Equal(t, "socket", hearsLate(t, peer))
		}
	})
}

// early is a datagram that was sent before the kernel has dealt with an ICMP message.
const early = "early"

// firstError repeats a send until it fails: the kernel may deal with an ICMP message a moment after
// the call that has sent it.
func firstError(send func() error) error {
	for end := time.Now().Add(conntest.Patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err := send(); err != nil {
			return err
		}
	}
	return nil
}

// hearsLate is hears without early datagrams.
func hearsLate(t *testing.T, peer *net.UDPConn) (text string) {
	t.Helper()
	for text = early; text == early; {
		text, _ = hears(t, peer)
	}
	return text
}
