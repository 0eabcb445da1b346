package packet_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Close of a group closes the sockets that are left. Calls that wait for them end, also those of
// goroutines and of another runtime's tasks.
func TestCloseOfAGroupClosesItsPacketSockets(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		conntest.Guard(t) // no descriptor is left
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
		to := peer.LocalAddr().(*net.UDPAddr).AddrPort()
		other := sched.New(sched.Config{Workers: 1})
		defer func() { require.NoError(t, other.Close()) }()
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: workers})
		require.NoError(t, err)
		local := func() *net.UDPConn { return listenUDP(t, "udp4", "127.0.0.1:0") }
		listen := func(h packet.Handler) packet.Handle {
			pc := local()
			defer pc.Close()
			handle, err := packet.Listen(g, pc, h)
			require.NoError(t, err)
			return handle
		}
		open := make(chan bool, 1)
		listening := listen(&funcs{lives: &audit{}, open: func(*packet.Conn) error { open <- true; return nil }})
		peers := make(chan *packet.Peer, 1)
		sessions := listen(&packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			_, err := p.Recv(cx, nil)
			peers <- p
			for err == nil {
				_, err = p.Recv(cx, nil)
			}
			return err
		})})
		_, err = peer.WriteToUDPAddrPort([]byte("x"), sessions.LocalAddr())
		require.NoError(t, err)
		session := conntest.Receive(t, peers)
		dialed, err := packet.Dial(g, to, &funcs{lives: &audit{}})
		require.NoError(t, err)
		pc := local()
		s, err := packet.ListenSocket(g, pc)
		require.NoError(t, err)
		require.NoError(t, pc.Close())
		u, err := packet.DialUDP(g, to)
		require.NoError(t, err)
		idle, err := packet.DialUDP(g, to) // no call has waited for it
		require.NoError(t, err)
		conntest.Receive(t, open)
		ports := []netip.AddrPort{listening.LocalAddr(), sessions.LocalAddr(), dialed.LocalAddr(),
			s.LocalAddr().(*net.UDPAddr).AddrPort(), u.LocalAddr(), idle.LocalAddr()}

		const waits = 5
		ends, waiting, closed := make(chan error, waits), make(chan bool, waits), make(chan error, 1)
		in := func(f func() error) {
			go func() { waiting <- true; ends <- f() }()
		}
		in(func() error { _, _, err := s.ReadFrom(make([]byte, 1)); return err })
		in(func() error { _, err := u.Recv(context.Background(), make([]byte, 1)); return err })
		in(func() error { _, err := session.Recv(context.Background(), make([]byte, 1)); return err })
		sched.Go(other, func(cx *sched.Context) (int, error) {
			waiting <- true
			_, err := u.Recv(cx, make([]byte, 1))
			ends <- err
			closed <- u.Closed(cx)
			return 0, nil
		})
		sched.Go(other, func(cx *sched.Context) (int, error) {
			waiting <- true
			_, err := session.Recv(cx, make([]byte, 1))
			ends <- err
			return 0, nil
		})
		for range waits {
			conntest.Receive(t, waiting)
		}
		require.NoError(t, g.Close())
		for range waits {
			requireOpError(t, conntest.Receive(t, ends), "read", net.ErrClosed)
		}
		require.NoError(t, conntest.Receive(t, closed))
		for _, at := range ports {
			require.NoError(t, listenUDP(t, "udp4", at.String()).Close(), "the port is free")
		}
		for _, err := range []error{listening.Send(nil, to), dialed.Close(), session.Send(nil), u.Close(), idle.TrySend(nil)} {
			require.ErrorIs(t, err, net.ErrClosed)
		}
		_, err = session.Recv(t.Context(), nil)
		requireOpError(t, err, "read", net.ErrClosed)
		_, err = session.TryRecv(nil)
		requireOpError(t, err, "read", net.ErrClosed)
		_, err = s.WriteTo([]byte("x"), peer.LocalAddr())
		requireOpError(t, err, "write", net.ErrClosed)
		require.NoError(t, s.Close())
	})
}
