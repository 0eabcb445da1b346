package server_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/server"
)

// Most tests keep workers busy, so that events behind them wait.
func init() { testmode.NoSpares.Store(true) }

// A stuckUntil is a handler that stays within its method from "b" until another one gets "f".
type stuckUntil struct {
	server.Base
	in   atomic.Int32
	free atomic.Bool
	stay func(free *atomic.Bool)
}

func (h *stuckUntil) hear(p []byte) {
	switch string(p) {
	case "b":
		h.in.Add(1)
		h.stay(&h.free)
	case "f":
		h.free.Store(true)
	}
}

func (h *stuckUntil) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	h.hear(p)
	_, err := c.Write(p)
	return err
}

// Handlers that burn keep their processors of Go's, so a spare needs one more.
func TestARequestIsServedWhileAllWorkersBurn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		h := &stuckUntil{stay: func(free *atomic.Bool) {
			for !free.Load() {
			}
		}}
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers, Spares: 2})
		require.Equal(t, 2, s.Group().Runtime().Spares())
		t.Cleanup(func() { h.free.Store(true) })
		var all []net.Conn
		for range workers {
			c := s.dial()
			_, err := c.Write([]byte("b"))
			require.NoError(t, err)
			all = append(all, c)
		}
		conntest.Eventually(t, func() bool { return int(h.in.Load()) == workers })
		late := s.dial()
		roundTrip(t, late, "x")
		roundTrip(t, late, "f")
		for _, c := range all {
			p := make([]byte, 1)
			_, err := c.Read(p)
			require.NoError(t, err)
			require.Equal(t, "b", string(p))
		}
	})
}

type packetStuckUntil struct {
	server.PacketBase
	*stuckUntil
}

func (h packetStuckUntil) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		h.hear(p.Data)
		_ = c.WriteTo(p.Data, p.From)
	}
	return nil
}

func (h packetStuckUntil) OnDrain(c *server.PacketConn)            { h.PacketBase.OnDrain(c) }
func (h packetStuckUntil) OnClose(c *server.PacketConn, err error) { h.PacketBase.OnClose(c, err) }
func (h packetStuckUntil) OnOpen(c *server.PacketConn) error       { return h.PacketBase.OnOpen(c) }

// A datagram socket of a group whose workers are occupied by connections is served by a spare.
func TestDatagramsAreServedWhileConnectionsOccupyAllWorkers(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		wait := make(chan struct{})
		h := &stuckUntil{stay: func(*atomic.Bool) { <-wait }}
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers, Spares: 1})
		release := sync.OnceFunc(func() { close(wait) })
		t.Cleanup(release)
		listening := make(chan net.Addr, 1)
		packets := &server.Server{Network: "udp", Addr: "127.0.0.1:0", Packets: packetStuckUntil{stuckUntil: h}, On: s.Group(),
			Listening: func(a net.Addr) { listening <- a }}
		served := make(chan error, 1)
		go func() { served <- packets.ListenAndServe() }()
		c := (&running{t: t, addr: conntest.Receive(t, listening)}).dial()
		roundTrip(t, c, "x")
		for range workers {
			c := s.dial()
			_, err := c.Write([]byte("b"))
			require.NoError(t, err)
		}
		conntest.Eventually(t, func() bool { return int(h.in.Load()) == workers })
		for range 3 {
			roundTrip(t, c, "y")
		}
		release()
		require.NoError(t, packets.Close())
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	})
}

func TestAServerHasNoSparesIfNoneAreWanted(t *testing.T) {
	testmode.NoSpares.Store(false)
	defer testmode.NoSpares.Store(true)
	require.Equal(t, 4, run(t, &server.Server{Handler: echo{}}).Group().Runtime().Spares())
	require.Zero(t, run(t, &server.Server{Handler: echo{}, Spares: -1}).Group().Runtime().Spares())
}
