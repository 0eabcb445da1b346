package reactortest

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

// A packet is a received datagram, and a copy of its content when it arrived.
type packet struct {
	reactor.Packet
	buf reactor.Buffer
	was string
}

func breachOfPacket(c *reactor.Completion) string {
	switch {
	case c.Res < 0 && c.Buf.Bytes != nil:
		return "an error with a buffer"
	case c.Res >= 0 && c.Buf.Bytes == nil:
		return "a datagram without a buffer"
	case c.Res >= 0 && len(c.Buf.Packet().Payload) != c.Res:
		return "not the length of the datagram"
	}
	return ""
}

// takePacket keeps a datagram, and releases it unless the test keeps buffers.
func (e *endpoint) takePacket(c *reactor.Completion) {
	if c.Res < 0 {
		return
	}
	p := packet{Packet: c.Buf.Packet(), buf: c.Buf}
	p.was = string(p.Payload)
	if !e.keep {
		p.Payload = []byte(p.was)
		e.l.r.Release(c.Buf)
	}
	e.packets = append(e.packets, p)
}

// releasePackets gives back the kept datagrams from the i-th to before the j-th.
func (e *endpoint) releasePackets(i, j int) {
	e.l.t.Helper()
	for _, p := range e.packets[i:j] {
		require.Equal(e.l.t, p.was, string(p.Payload), "a datagram changed before its release")
		e.l.r.Release(p.buf)
	}
}

// texts returns the datagrams that have arrived.
func (e *endpoint) texts() []string {
	all := make([]string, len(e.packets))
	for i, p := range e.packets {
		all[i] = p.was
	}
	return all
}

// packetEnd returns a datagram socket of the loop, and its address.
func (l *loop) packetEnd(network string) (*endpoint, netip.AddrPort) {
	l.t.Helper()
	fd, addr := packetSocket(l.t, network)
	return l.add(fd), addr
}

// A datagramPeer is the part of net.UDPConn that the tests use.
type datagramPeer interface {
	WriteToUDPAddrPort(p []byte, to netip.AddrPort) (int, error)
	ReadFromUDPAddrPort(p []byte) (int, netip.AddrPort, error)
	SetReadDeadline(t time.Time) error
	LocalAddr() net.Addr
	Close() error
}

// packetPeer returns a socket of the test.
func packetPeer(t testing.TB, network string) (datagramPeer, netip.AddrPort) {
	t.Helper()
	ip := netip.IPv6Loopback()
	if network == "udp4" {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	c, err := listenPacket(network, netip.AddrPortFrom(ip, 0))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // a test may have closed it
	return c, c.LocalAddr().(*net.UDPAddr).AddrPort()
}

func writeTo(t testing.TB, c datagramPeer, p []byte, to netip.AddrPort) {
	t.Helper()
	_, err := c.WriteToUDPAddrPort(p, to)
	require.NoError(t, err)
}

// readFrom returns the next datagram of the test's own socket. It has been sent before.
func readFrom(t testing.TB, c datagramPeer) (string, netip.AddrPort) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(deadline()))
	p := make([]byte, 1<<16)
	n, from, err := c.ReadFromUDPAddrPort(p)
	require.NoError(t, err)
	return string(p[:n]), from
}

func add(t testing.TB, b *reactor.Batch, to netip.AddrPort, texts ...string) *reactor.Batch {
	t.Helper()
	for _, text := range texts {
		require.NoError(t, b.Add([]byte(text), to))
	}
	return b
}
