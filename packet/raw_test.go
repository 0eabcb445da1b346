package packet_test

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

func TestDatagramOptionsAreSetAsOnNets(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		s, err := packet.ListenSocket(f, pc)
		require.NoError(t, err)
		require.NoError(t, pc.Close())
		p := ipv4.NewPacketConn(s)
		require.NoError(t, p.SetTTL(17))
		ttl, err := p.TTL()
		require.NoError(t, err)
		require.Equal(t, 17, ttl)

		peer, err := net.Dial("udp", s.LocalAddr().String())
		require.NoError(t, err)
		defer peer.Close()
		write(t, peer, "hello")
		buf := make([]byte, 10)
		n, _, flags, from, err := s.ReadMsgUDP(buf, nil)
		require.NoError(t, err)
		require.Zero(t, flags)
		require.Equal(t, "hello", string(buf[:n]))
		require.Equal(t, peer.LocalAddr().String(), from.String())
		raw := rawOf(t, s)
		require.NoError(t, raw.Write(func(uintptr) bool { return true }))
		require.NoError(t, s.SetReadDeadline(time.Now()))
		requireOpError(t, raw.Read(func(uintptr) bool { return false }), "raw-read", os.ErrDeadlineExceeded)
		require.NoError(t, s.SetReadDeadline(time.Time{}))

		require.NoError(t, s.Close())
		called := func(uintptr) bool { t.Error("called after Close"); return true }
		requireOpError(t, raw.Control(func(fd uintptr) { called(fd) }), "raw-control", net.ErrClosed)
		requireOpError(t, raw.Read(called), "raw-read", net.ErrClosed)
		requireOpError(t, raw.Write(called), "raw-write", net.ErrClosed)
	})
}
