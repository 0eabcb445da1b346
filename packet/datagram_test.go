package packet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// listenTaskUDP is a socket for tasks on a free port of the loopback interface.
func listenTaskUDP(t testing.TB, f packet.Group) *packet.UDPSocket {
	t.Helper()
	pc := listenUDP(t, "udp4", "127.0.0.1:0")
	s, err := packet.ListenUDP(f, pc)
	require.NoError(t, err)
	require.NoError(t, pc.Close())
	t.Cleanup(func() { closeTaskSocket(t, s) })
	return s
}

func dialTaskUDP(t testing.TB, f packet.Group, to netip.AddrPort) *packet.UDPSocket {
	t.Helper()
	s, err := packet.DialUDP(f, to)
	require.NoError(t, err)
	t.Cleanup(func() { closeTaskSocket(t, s) })
	return s
}

// closeTaskSocket closes a socket that the test may have closed, and waits for its end.
func closeTaskSocket[A any](t testing.TB, s *packet.DatagramSocket[A]) {
	if err := s.Close(); err != nil {
		require.ErrorIs(t, err, net.ErrClosed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	require.NoError(t, s.Closed(ctx))
}

// inTask runs a function as a stackful task.
func inTask(f *fixture, fn func(cx *sched.Context) error) <-chan error {
	done := make(chan error, 1)
	sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
		err := errors.New("the task has failed the test")
		defer func() { done <- err }()
		err = fn(cx)
		return struct{}{}, nil
	}).Detach()
	return done
}

// echoTask echoes until the socket is closed.
func echoTask(s *packet.UDPSocket) func(cx *sched.Context) error {
	return func(cx *sched.Context) error {
		p := make([]byte, 65536)
		for {
			n, from, err := s.RecvFrom(cx, p)
			switch {
			case errors.Is(err, net.ErrClosed):
				return nil
			case err != nil:
				return err
			}
			if err := s.SendTo(cx, p[:n], from); err != nil {
				return err
			}
		}
	}
}

func TestATaskEchoesDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		echo := inTask(f, echoTask(s))
		c := udpClient(t, s.LocalAddr())
		for i, size := range []int{5, 0, 1, 1000, 65507} {
			exchange(t, c, string(noise[i:i+size]))
		}
		require.NoError(t, s.Close())
		require.NoError(t, conntest.Receive(t, echo))
		require.ErrorIs(t, s.Close(), net.ErrClosed)
		require.NoError(t, s.Closed(t.Context()))
		listenUDP(t, "udp4", s.LocalAddr().String()) // the port is free
	})
}

// Tasks on all workers and goroutines receive from one socket. Each datagram is received once.
func TestTasksAndGoroutinesShareADatagramSocket(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		require.NoError(t, s.SetReadBuffer(4<<20))
		var ends []<-chan error
		for range 2 * workers {
			ends = append(ends, inTask(f, echoTask(s)))
		}
		goroutine := make(chan error, 1)
		go func() {
			p := make([]byte, 2000)
			for {
				n, from, err := s.RecvFrom(context.Background(), p)
				if err == nil {
					err = s.SendTo(context.Background(), p[:n], from)
				}
				if err != nil {
					goroutine <- err
					return
				}
			}
		}()
		conntest.Each(t, 8, func(i int) error {
			c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(s.LocalAddr()))
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			p := make([]byte, 2000)
			for j := range 100 {
				want := numbered(i, j)
				if _, err := c.Write(want); err != nil {
					return err
				}
				n, err := c.Read(p)
				if err != nil {
					return err
				}
				if string(p[:n]) != string(want) {
					return fmt.Errorf("%d/%d came back changed", i, j)
				}
			}
			return nil
		})
		require.NoError(t, s.Close())
		for _, end := range ends {
			require.NoError(t, conntest.Receive(t, end))
		}
		require.ErrorIs(t, conntest.Receive(t, goroutine), net.ErrClosed)
	})
}

func TestATaskReceivesTheErrorsOfItsDatagrams(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2)
		s := listenTaskUDP(t, f)
		gone := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, gone.Close())
		c := dialTaskUDP(t, f, gone.LocalAddr().(*net.UDPAddr).AddrPort())
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			p := make([]byte, 10)
			requireOpError(t, s.SendTo(cx, make([]byte, 65508), c.LocalAddr()), "write", syscall.EMSGSIZE)
			requireOpError(t, s.SendTo(cx, p, netip.MustParseAddrPort("[::1]:1")), "write", syscall.EAFNOSUPPORT)
			requireOpError(t, c.SendTo(cx, p, s.LocalAddr()), "write", net.ErrWriteToConnected)
			_, err := s.TryRecv(p)
			require.ErrorIs(t, err, packet.ErrWouldBlock)
			require.ErrorIs(t, err, syscall.EAGAIN)
			if conntest.Wine() {
				return nil // Wine 8 forgets refusals
			}
			require.NoError(t, c.Send(cx, []byte("anybody there?")))
			_, err = c.Recv(cx, p)
			requireOpError(t, err, "read", syscall.ECONNREFUSED)
			back := listenUDP(t, "udp4", gone.LocalAddr().String())
			_, err = back.WriteTo([]byte("now"), net.UDPAddrFromAddrPort(c.LocalAddr()))
			require.NoError(t, err)
			n, err := c.Recv(cx, p)
			require.NoError(t, err)
			require.Equal(t, "now", string(p[:n]))
			return nil
		})))
	})
}

func TestDeadlinesOfATasksDatagramSocket(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			p := make([]byte, 10)
			for _, after := range []time.Duration{-time.Second, 10 * time.Millisecond} {
				at := time.Now().Add(after)
				require.NoError(t, s.SetReadDeadline(at))
				for range 2 {
					_, _, err := s.RecvFrom(cx, p)
					requireOpError(t, err, "read", os.ErrDeadlineExceeded)
					var ne net.Error
					require.ErrorAs(t, err, &ne)
					require.True(t, ne.Timeout())
				}
				require.False(t, time.Now().Before(at))
			}
			// A deadline that is moved later while it waits does not end the receive.
			require.NoError(t, s.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
			require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Hour)))
			first := sched.Go(f.Runtime(), func(cx *sched.Context) (int, error) { return s.Recv(cx, make([]byte, 10)) })
			_, err := sched.Await(cx, sched.Sleep(30*time.Millisecond))
			require.NoError(t, err)
			require.False(t, first.Done())
			require.NoError(t, s.SetReadDeadline(time.Now()))
			_, err = sched.Await(cx, first)
			requireOpError(t, err, "read", os.ErrDeadlineExceeded)

			require.NoError(t, s.SetWriteDeadline(time.Now().Add(-time.Second)))
			requireOpError(t, s.SendTo(cx, p, s.LocalAddr()), "write", os.ErrDeadlineExceeded)
			require.NoError(t, s.SetDeadline(time.Time{}))
			require.NoError(t, s.SendTo(cx, []byte("still"), s.LocalAddr()))
			n, _, err := s.RecvFrom(cx, p)
			require.NoError(t, err)
			require.Equal(t, "still", string(p[:n]))
			return nil
		})))
		require.NoError(t, s.Close())
		requireOpError(t, s.SetDeadline(time.Now()), "set", net.ErrClosed)
	})
}

// A future of a batch that is polled again sends the whole batch again.
func TestABatchFutureSendsOnceMore(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		a, b := listenTaskUDP(t, f), listenTaskUDP(t, f)
		require.NoError(t, conntest.Receive(t, inTask(f, func(cx *sched.Context) error {
			ms := []packet.Message[netip.AddrPort]{{Data: []byte("1"), Addr: b.LocalAddr()}, {Data: []byte("2"), Addr: b.LocalAddr()}}
			send := a.SendBatchFuture(ms)
			for round := range 3 {
				if n, err := sched.Await(cx, send); n != 2 || err != nil {
					return fmt.Errorf("round %d: sent %d: %w", round, n, err)
				}
				for i := range ms {
					p := make([]byte, 2)
					n, _, err := b.TryRecvFrom(p)
					if err != nil || string(p[:n]) != string(ms[i].Data) {
						return fmt.Errorf("round %d, %d: %q %w", round, i, p[:n], err)
					}
				}
			}
			return nil
		})))
	})
}
