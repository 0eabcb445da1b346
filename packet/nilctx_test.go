package packet_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A nil context is refused, also by a call that would not wait. The datagram stays.
func TestANilContextIsRefusedAlsoWhereNothingWaits(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s, err := packet.ListenUDP(f, listenUDP(t, "udp4", "127.0.0.1:0"))
		require.NoError(t, err)
		peer := udpClient(t, s.LocalAddr())
		to := peer.LocalAddr().(*net.UDPAddr).AddrPort()
		d, err := packet.DialUDP(f, to)
		require.NoError(t, err)
		_, err = peer.Write([]byte("kept"))
		require.NoError(t, err)
		require.NoError(t, s.Readable(t.Context()))

		var none context.Context
		p := make([]byte, 16)
		for name, call := range map[string]func() error{
			"Recv":      func() error { _, err := s.Recv(none, p); return err },
			"RecvFrom":  func() error { _, _, err := s.RecvFrom(none, p); return err },
			"RecvBatch": func() error { _, err := s.RecvBatch(none, []packet.Message[netip.AddrPort]{{Data: p}}); return err },
			"Readable":  func() error { return s.Readable(none) },
			"Writable":  func() error { return s.Writable(none) },
			"SendTo":    func() error { return s.SendTo(none, p, to) },
			"Send":      func() error { return d.Send(none, p) },
			"SendBatch": func() error { _, err := d.SendBatch(none, []packet.Message[netip.AddrPort]{{Data: p}}); return err },
			"Closed":    func() error { return s.Closed(none) },
		} {
			require.ErrorIs(t, call(), sched.ErrMisuse, name)
		}
		n, err := s.Recv(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "kept", string(p[:n]))
	})
}

func TestAPeersReceiveRefusesANilContextAlsoWhereNothingWaits(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		refused := make(chan error, 1)
		_, at := servePackets(t, f, &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			var none context.Context
			_, err := p.Recv(none, make([]byte, 16))
			refused <- err
			b := make([]byte, 16)
			n, err := p.Recv(cx, b)
			if err != nil {
				return err
			}
			return p.Send(b[:n])
		})})
		c := udpClient(t, at)
		_, err := c.Write([]byte("kept"))
		require.NoError(t, err)
		require.ErrorIs(t, conntest.Receive(t, refused), sched.ErrMisuse)
		got := make([]byte, 16)
		n, err := c.Read(got)
		require.NoError(t, err)
		require.Equal(t, "kept", string(got[:n]))
	})
}
