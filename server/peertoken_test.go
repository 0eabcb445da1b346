package server_test

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// staying are sessions on a socket that stays when the server drains, until a session task closes
// it.
type staying struct{ *server.Sessions }

func (staying) OnDrain(*server.PacketConn) {}

// untilDrained answers one datagram and then waits for the token of its task.
func untilDrained(drained chan<- struct{}) server.SessionHandler {
	return server.SessionTasks(func(cx *sched.Context, p *server.Peer) error {
		b := make([]byte, 1)
		n, err := p.Recv(cx, b)
		if err == nil {
			err = p.Send(b[:n])
		}
		if err == nil {
			_, err = sched.Await(cx, cx.Draining().Canceled())
		}
		if err == nil {
			drained <- struct{}{}
		}
		return err
	})
}

// servePeers runs a server with session tasks on the loopback interface.
func servePeers(t *testing.T, s *server.Server, h server.PacketHandler) *running {
	t.Helper()
	s.Network, s.Addr, s.Packets = "udp", "127.0.0.1:0", h
	r := &running{Server: s, t: t, served: make(chan error, 1)}
	listening := make(chan net.Addr, 1)
	s.Listening = func(a net.Addr) { listening <- a }
	go func() { r.served <- s.ListenAndServe() }()
	t.Cleanup(func() { _ = s.Close() })
	r.addr = conntest.Receive(t, listening)
	return r
}

func TestSessionTasksOnASharedGroupHaveTheTokenOfTheirServer(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		var all [2]*running
		var drained [2]chan struct{}
		for i := range all {
			drained[i] = make(chan struct{}, 1)
			s := &server.Server{On: g}
			h := &server.Sessions{Handler: untilDrained(drained[i])}
			all[i] = servePeers(t, s, h)
			roundTrip(t, all[i].dial(), "x")
		}
		require.NoError(t, all[0].Shutdown(t.Context()))
		conntest.Receive(t, drained[0])
		require.Empty(t, drained[1], "the other server goes on")
		require.False(t, g.Runtime().Draining().IsCanceled())
		roundTrip(t, all[1].dial(), "x")
		g.Runtime().Draining().Cancel()
		conntest.Receive(t, drained[1])
	})
}

// The token comes before the end of the socket: the task may still send.
func TestASessionTaskCanAnswerWhileItsServerDrains(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		s := &server.Server{On: g}
		var handle server.PacketHandle
		peers := &server.Sessions{}
		peers.Handler = server.SessionTasks(func(cx *sched.Context, p *server.Peer) error {
			b := make([]byte, 1)
			if _, err := p.Recv(cx, b); err != nil {
				return err
			}
			if err := p.Send(b); err != nil {
				return err
			}
			if _, err := sched.Await(cx, cx.Draining().Canceled()); err != nil {
				return err
			}
			return errors.Join(p.Send([]byte("z")), handle.Close())
		})
		opened := make(chan struct{})
		r := servePeers(t, s, &opening{staying{peers}, func(c *server.PacketConn) {
			handle = c.Handle()
			close(opened)
		}})
		<-opened
		c := r.dial()
		roundTrip(t, c, "x")
		require.NoError(t, s.Shutdown(t.Context()))
		b := make([]byte, 1)
		_, err := c.Read(b)
		require.NoError(t, err)
		require.Equal(t, "z", string(b))
	})
}

func TestTheTokenOfASessionTaskIsCanceledWithItsSocket(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		drained, sockets := make(chan struct{}, 1), make(chan server.PacketHandle, 1)
		h := &opening{staying{&server.Sessions{Handler: untilDrained(drained)}}, func(c *server.PacketConn) {
			sockets <- c.Handle()
		}}
		r := servePeers(t, &server.Server{On: sharedGroup(t, backend, workers)}, h)
		roundTrip(t, r.dial(), "x")
		require.Empty(t, drained)
		require.NoError(t, conntest.Receive(t, sockets).Close())
		conntest.Receive(t, drained)
	})
}

// An opening calls a function when its socket is open.
type opening struct {
	staying
	open func(*server.PacketConn)
}

func (o *opening) OnOpen(c *server.PacketConn) error {
	o.open(c)
	return o.staying.OnOpen(c)
}
