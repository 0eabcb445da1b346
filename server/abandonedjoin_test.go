package server_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

type idleHandler struct{ server.Base }

func (idleHandler) OnData(c *server.Conn) error { _, _ = c.Next(-1); return nil }

type idlePackets struct {
	packet.Base
	ended chan error
}

func (idlePackets) OnPackets(*packet.Conn, []packet.Packet) error { return nil }

func (h idlePackets) OnClose(_ *packet.Conn, err error) { h.ended <- err }

// abandonJoin abandons a Join in which f is done and another future is not.
func abandonJoin[T any](t *testing.T, c *client, f sched.Future[T]) {
	t.Helper()
	err := inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
		other := sched.Future[struct{}](sched.Sleep(time.Hour))
		_, err := sched.Await(cx, sched.Timeout(200*time.Millisecond, sched.Join2(f, other)))
		return err
	})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// A Join that is abandoned gives back the connections of its futures, of whichever kind they are.
func TestAnAbandonedJoinEndsTheConnectionsItHas(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		addr := conntest.Serve(t, func(c net.Conn) {
			_, _ = io.Copy(io.Discard, struct{ io.Reader }{c})
		}).String()
		t.Run("a Stream", func(t *testing.T) {
			c := newClient(t, backend, 1, false)
			abandonJoin(t, c, c.DialStreamFuture("tcp", addr))
			conntest.Eventually(t, func() bool { return c.group.Len() == 0 })
		})
		t.Run("a Lease", func(t *testing.T) {
			c := newClient(t, backend, 1, false)
			p := &server.Pool{Dialer: c.Dialer, MaxConns: 1}
			defer p.Close()
			abandonJoin(t, c, p.GetLeaseFuture("tcp", addr, idleHandler{}))
			conntest.Eventually(t, func() bool { return p.Stats().InUse == 0 })
		})
		t.Run("a Handle", func(t *testing.T) {
			c := newClient(t, backend, 1, false)
			abandonJoin(t, c, c.DialHandlerFuture("tcp", addr, idleHandler{}))
			conntest.Eventually(t, func() bool { return c.group.Len() == 0 })
		})
		t.Run("a Handle of a Pool", func(t *testing.T) {
			c := newClient(t, backend, 1, false)
			p := &server.Pool{Dialer: c.Dialer, MaxConns: 1}
			defer p.Close()
			abandonJoin(t, c, p.GetFuture("tcp", addr, idleHandler{}))
			conntest.Eventually(t, func() bool { return p.Stats().InUse == 0 })
		})
		t.Run("a PacketHandle", func(t *testing.T) {
			c := newClient(t, backend, 1, false)
			h := idlePackets{ended: make(chan error, 1)}
			abandonJoin(t, c, c.DialPacketFuture("udp", addr, h))
			require.ErrorIs(t, conntest.Receive(t, h.ended), net.ErrClosed)
		})
	})
}
