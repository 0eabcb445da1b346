package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/server"
)

type packetEcho struct {
	server.PacketBase
	stay bool // ignores OnDrain
}

func (packetEcho) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

func (e packetEcho) OnDrain(c *server.PacketConn) {
	if !e.stay {
		e.PacketBase.OnDrain(c)
	}
}

func TestServesUDPUntilShutdown(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for network, addr := range map[string]string{"udp": "127.0.0.1:0", "udp4": "127.0.0.1:0", "udp6": "[::1]:0"} {
			s := run(t, &server.Server{Packets: packetEcho{}, Network: network, Addr: addr, Backend: backend, Workers: workers})
			conntest.Eventually(t, func() bool { return s.Group().Len() == 1 }, "the socket is attached")
			c := s.dial()
			for range 10 {
				roundTrip(t, c, "hello")
			}
			require.Empty(t, s.served)
			require.NoError(t, s.Shutdown(t.Context()))
			require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
			require.Zero(t, s.Group().Len())
			again, err := net.ListenPacket(network, s.addr.String())
			require.NoError(t, err, "the port is free")
			require.NoError(t, again.Close())
		}
	})
}

func TestShutdownEndsAPacketSocketThatStays(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Packets: packetEcho{stay: true}, Network: "udp", Backend: backend})
		roundTrip(t, s.dial(), "hello")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown(ctx) }()
		conntest.Receive(t, s.served)
		roundTrip(t, s.dial(), "it serves while it drains")
		cancel()
		require.ErrorIs(t, conntest.Receive(t, ended), context.Canceled)
		require.Zero(t, s.Group().Len())
	})
}

// One server, one handler each for connections and for packets, on the same port.
func TestServesTCPAndUDPBesideEachOther(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var s *running
		var pc net.PacketConn
		for err := error(syscall.EADDRINUSE); errors.Is(err, syscall.EADDRINUSE); { // until both are free
			s = run(t, &server.Server{Handler: echo{}, Packets: packetEcho{}, Backend: backend})
			pc, err = net.ListenPacket("udp", s.addr.String())
			require.True(t, err == nil || errors.Is(err, syscall.EADDRINUSE), "%v", err)
		}
		served := make(chan error, 1)
		go func() { served <- s.ServePacket(pc.(*net.UDPConn)) }()
		c, err := net.Dial("udp", s.addr.String())
		require.NoError(t, err)
		defer c.Close()
		roundTrip(t, c, "by packet") // datagrams that arrive before the socket is served wait in it
		roundTrip(t, s.dial(), "by stream")
		require.NoError(t, s.Shutdown(t.Context()))
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
		late, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		require.Equal(t, server.ErrServerClosed, s.ServePacket(late.(*net.UDPConn)))
		_, err = late.WriteTo(nil, s.addr)
		require.Error(t, err)
	})
}

func TestErrorsOfServingPacketsSayWhatToDo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		defer taken.Close()
		s := &server.Server{Packets: packetEcho{}, Network: "udp", Addr: taken.LocalAddr().String(), Backend: backend}
		err = s.ListenAndServe()
		requireAdvice(t, err, "choose another address")
		require.ErrorIs(t, conn.Portable(err), syscall.EADDRINUSE)
		requireAdvice(t, (&server.Server{Handler: echo{}, Network: "udp", Addr: "127.0.0.1:0", Backend: backend}).ListenAndServe(), "Packets is nil; set one")
		requireAdvice(t, (&server.Server{Packets: packetEcho{}, Addr: "127.0.0.1:0", Backend: backend}).ListenAndServe(), "Handler is nil; set one")
		requireAdvice(t, (&server.Server{Packets: new(server.Sessions), Network: "udp", Addr: "127.0.0.1:0", Backend: backend}).ListenAndServe(), "Sessions.Handler is nil; set one")
		s = &server.Server{Packets: packetEcho{}, Network: "udp", Addr: "nonsense", Backend: backend}
		requireAdvice(t, s.ListenAndServe(), "use host:port")
		require.False(t, errors.Is(s.Close(), net.ErrClosed))
	})
}

// Whichever socket the kernel chooses for a peer, somebody answers.
func TestReusePortHasEachWorkerServeDatagrams(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers = 4
		s := run(t, &server.Server{Packets: packetEcho{}, Network: "udp", Backend: backend, Workers: workers, ReusePort: true})
		if runtime.GOOS == "linux" { // elsewhere nobody spreads datagrams
			conntest.Eventually(t, func() bool { return s.Group().Len() == workers }, "a socket for each worker")
		}
		for range 50 {
			roundTrip(t, s.dial(), "hello")
		}
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

// A burst of many peers at the sockets of all workers, which share one Sessions.
func TestSessionsServeTheSocketsOfAllWorkers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := &sessionTalker{}
		s := run(t, &server.Server{Packets: &packet.Sessions{Handler: h}, Network: "udp", ReusePort: true, Backend: backend, Workers: 4})
		const peers = 200
		var all []net.Conn // until the end: a port that is free again may be another's, whose session it joins
		for range peers {
			c, err := net.Dial("udp", s.addr.String())
			require.NoError(t, err)
			defer c.Close()
			all = append(all, c)
		}
		conntest.Each(t, peers, func(i int) error {
			c, p := all[i], make([]byte, 10)
			for range 5 {
				for answered := false; !answered; { // datagrams may get lost
					if _, err := c.Write([]byte("x")); err != nil {
						return err
					}
					_ = c.SetReadDeadline(time.Now().Add(time.Second))
					_, err := c.Read(p)
					if answered = err == nil; !answered && !errors.Is(err, os.ErrDeadlineExceeded) {
						return err
					}
				}
			}
			return nil
		})
		require.EqualValues(t, peers, h.opened.Load())
		require.NoError(t, s.Shutdown(t.Context()))
		require.EqualValues(t, peers, h.closed.Load())
	})
}
