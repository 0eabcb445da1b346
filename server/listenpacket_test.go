package server_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// echoDatagrams answers on a goroutine until the socket is closed, and reports why it ended.
func echoDatagrams(s net.PacketConn) <-chan error {
	ended := make(chan error, 1)
	go func() {
		p := make([]byte, 2000)
		for {
			n, from, err := s.ReadFrom(p)
			if err == nil {
				_, err = s.WriteTo(p[:n], from)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended
}

func askDatagram(t *testing.T, addr net.Addr) {
	t.Helper()
	c, err := net.Dial("udp", addr.String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	for range 10 {
		_, err = c.Write([]byte("hello"))
		require.NoError(t, err)
		p := make([]byte, 10)
		n, err := c.Read(p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p[:n]))
	}
}

// The end of the sockets ends the workers, whichever side closes them.
func TestGoroutinesServeDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for name, end := range map[string]func(s *server.Server, p *server.PacketSocket) error{
			"the socket": func(_ *server.Server, p *server.PacketSocket) error { return p.Close() },
			"Shutdown":   func(s *server.Server, _ *server.PacketSocket) error { return s.Shutdown(t.Context()) },
			"Close":      func(s *server.Server, _ *server.PacketSocket) error { return s.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				s := &server.Server{Backend: backend, Workers: workers}
				p, err := s.ListenPacket("udp4", "127.0.0.1:0")
				require.NoError(t, err)
				require.IsType(t, (*net.UDPAddr)(nil), p.LocalAddr())
				rt := s.Group().Runtime()
				ended := echoDatagrams(p)
				askDatagram(t, p.LocalAddr())
				require.NoError(t, end(s, p))
				require.ErrorIs(t, conntest.Receive(t, ended), net.ErrClosed)
				conntest.Receive(t, rt.Done())
				if name != "the socket" {
					require.NoError(t, p.Close(), "the first Close")
				}
				require.ErrorIs(t, p.Close(), net.ErrClosed)
			})
		}
	})
}

// Workers that only report when a socket is ready share threads: see Listen.
func TestTheWorkersOfPacketsForGoroutinesShareThreads(t *testing.T) {
	conntest.Guard(t)
	s := &server.Server{}
	p, err := s.ListenPacket("udp", "localhost:0")
	require.NoError(t, err)
	defer p.Close()
	of := &server.Server{}
	ln, err := of.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer ln.Close()
	require.Equal(t, of.Group().Runtime().Workers(), s.Group().Runtime().Workers())
	require.Equal(t, of.Group().Backend(), s.Group().Backend())
}

func TestAServerOnASharedGroupEndsItsOwnPacketSockets(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
		require.NoError(t, err)
		defer g.Close()
		one, other := &server.Server{On: g}, &server.Server{On: g}
		a, err := one.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		b, err := other.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		u, err := one.ListenUDP("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		ended, goesOn := echoDatagrams(a), echoDatagrams(b)
		require.NoError(t, one.Shutdown(t.Context()))
		require.ErrorIs(t, u.Close(), net.ErrClosed)
		require.ErrorIs(t, conntest.Receive(t, ended), net.ErrClosed)
		askDatagram(t, b.LocalAddr())
		require.NoError(t, other.Close())
		require.ErrorIs(t, conntest.Receive(t, goesOn), net.ErrClosed)
	})
}

func TestAPacketSocketThatCannotBeHadIsAnErrorOfPackageNet(t *testing.T) {
	conntest.Guard(t)
	p, err := server.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer p.Close()
	var oe *net.OpError
	_, err = server.ListenPacket("udp4", p.LocalAddr().String())
	require.ErrorAs(t, err, &oe)
	_, err = server.ListenPacket("unixgram", "/nowhere")
	require.ErrorAs(t, err, &oe)
	require.False(t, errors.Is(err, net.ErrClosed))
}
