package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A trap is where handlers stay until it opens. Its methods that are handlers' are those of
// connections and of packet sockets.
type trap struct {
	server.Base
	caught chan bool
	open   chan struct{}
	spin   atomic.Bool // it has opened, for those that burn
	closed atomic.Int32
}

func newTrap() *trap { return &trap{caught: make(chan bool, 100), open: make(chan struct{})} }

func (h *trap) release() {
	h.spin.Store(true)
	close(h.open)
}

// block is for a handler that waits.
func (h *trap) block() {
	h.caught <- true
	<-h.open
}

// burn is for a handler that computes.
func (h *trap) burn() {
	h.caught <- true
	for !h.spin.Load() {
	}
}

func (h *trap) OnData(c *server.Conn) error {
	_, _ = c.Discard(-1)
	h.block()
	_, _ = c.WriteString("too late")
	return nil
}

func (h *trap) OnClose(*server.Conn, error) { h.closed.Add(1) }

type packetTrap struct {
	server.PacketBase
	*trap
}

func (h packetTrap) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	h.block()
	for _, p := range batch {
		_ = c.WriteTo(p.Data, p.From)
	}
	return nil
}

func (h packetTrap) OnDrain(c *server.PacketConn)      { h.PacketBase.OnDrain(c) }
func (h packetTrap) OnClose(*server.PacketConn, error) { h.closed.Add(1) }
func (h packetTrap) OnOpen(c *server.PacketConn) error { return h.PacketBase.OnOpen(c) }

// sequential handles a connection with one call of stay.
func (h *trap) sequential(stay func()) server.Handler {
	return server.Sequential(func(_ *sched.Context, s *server.Stream) error {
		defer h.closed.Add(1)
		_, _ = s.Read(make([]byte, 1))
		stay()
		_, err := s.Write([]byte("too late"))
		return err
	})
}

func closeNow(s *running) error { return s.Close() }

func shutdownSoon(s *running) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	return s.Shutdown(ctx)
}

// stuckCases are servers whose handlers never return, and how they are ended.
var stuckCases = []struct {
	name string
	make func(t *testing.T, h *trap) *server.Server
	end  func(s *running) error
	is   error
}{
	{"callback, Shutdown", func(_ *testing.T, h *trap) *server.Server {
		return &server.Server{Handler: h}
	}, shutdownSoon, context.DeadlineExceeded},
	{"sequential that burns, Close", func(_ *testing.T, h *trap) *server.Server {
		return &server.Server{Handler: h.sequential(h.burn)}
	}, closeNow, conn.ErrStuck},
	{"sequential on Unix, Shutdown", func(t *testing.T, h *trap) *server.Server {
		return &server.Server{Network: "unix", Addr: filepath.Join(t.TempDir(), "s"), Handler: h.sequential(h.block)}
	}, shutdownSoon, context.DeadlineExceeded},
	{"datagrams, Shutdown", func(_ *testing.T, h *trap) *server.Server {
		return &server.Server{Network: "udp", Packets: packetTrap{trap: h}}
	}, shutdownSoon, context.DeadlineExceeded},
	{"datagrams, Close", func(_ *testing.T, h *trap) *server.Server {
		return &server.Server{Network: "udp", Packets: packetTrap{trap: h}}
	}, closeNow, conn.ErrStuck},
}

func TestShutdownAndCloseReturnThoughAHandlerNeverDoes(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, c := range stuckCases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // each waits for a second
				h := newTrap()
				srv := c.make(t, h)
				if srv.Network == "unix" && runtime.GOOS == "windows" {
					t.Skip("Wine has no Unix sockets")
				}
				srv.Backend, srv.Workers = backend, workers
				s := run(t, srv)
				s.addr = another(t, s.addr) // that clients dial
				stuck := workers
				if srv.Handler != h {
					stuck = 1 // one socket has one handler, and a sequential one stays on its worker
				}
				for range stuck {
					writeByte(t, s.dial())
					conntest.Receive(t, h.caught)
				}
				ended := make(chan error, 1)
				go func() { ended <- c.end(s) }()
				err := conntest.Receive(t, ended)
				require.ErrorIs(t, err, c.is)
				require.ErrorIs(t, err, conn.ErrStuck)
				require.NotErrorIs(t, err, context.Canceled, "nobody has canceled anything")
				require.ErrorContains(t, err, "worker ")
				require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
				require.Equal(t, stuck, s.Group().Len())
				if runtime.GOOS != "windows" { // where only the worker can close a socket
					requireUnreachable(t, s.addr)
				}
				select {
				case <-s.Group().Runtime().Done():
					t.Fatal("the workers have ended, with a handler that is running")
				default:
				}
				h.release()
				conntest.Receive(t, s.Group().Runtime().Done())
				require.Zero(t, s.Group().Len())
				require.EqualValues(t, stuck, h.closed.Load())
			})
		}
	})
}

func writeByte(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Write([]byte("x"))
	require.NoError(t, err)
}

// another is another name of the same listening socket: of a Unix one a hard link, since
// Shutdown removes the path whether or not anything listens still.
func another(t *testing.T, addr net.Addr) net.Addr {
	t.Helper()
	if addr.Network() != "unix" || runtime.GOOS == "windows" {
		return addr
	}
	link := addr.String() + ".link"
	require.NoError(t, os.Link(addr.String(), link))
	return &net.UnixAddr{Net: "unix", Name: link}
}

// requireUnreachable: nobody listens at an address, although the workers cannot have
// closed anything.
func requireUnreachable(t *testing.T, addr net.Addr) {
	t.Helper()
	conntest.Eventually(t, func() bool {
		if addr.Network() == "udp" {
			pc, err := net.ListenPacket("udp", addr.String())
			if err == nil {
				_ = pc.Close()
			}
			return err == nil
		}
		c, err := net.DialTimeout(addr.Network(), addr.String(), conntest.Patience)
		if err == nil {
			_ = c.Close()
		}
		return errors.Is(conn.Portable(err), syscall.ECONNREFUSED)
	}, "the address is still in use")
}

// One that is not stuck ends in order, beside one that is.
func TestShutdownEndsWhatItCanBesideAStuckWorker(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := newTrap()
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 2})
		idle := s.dial()
		conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
		writeByte(t, s.dial())
		conntest.Receive(t, h.caught)
		err := shutdownSoon(s)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "1 connection")
		require.NoError(t, idle.SetReadDeadline(time.Now().Add(conntest.Patience)))
		_, err = idle.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		h.release()
		conntest.Receive(t, s.Group().Runtime().Done())
		require.EqualValues(t, 2, h.closed.Load())
	})
}
