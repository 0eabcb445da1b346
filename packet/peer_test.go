package packet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// Each peer has a task, whose variables belong to the session. A session ends when its function
// returns. The next datagram begins another session.
func TestSessionTasksServeEachPeerSequentially(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		m := &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			b := make([]byte, 2000)
			for count := 1; ; count++ {
				n, err := p.Recv(cx, b)
				if err != nil {
					return err
				}
				if string(b[:n]) == "bye" {
					return nil
				}
				if err := p.Send(fmt.Appendf(nil, "%s %d %v", b[:n], count, p.Addr())); err != nil {
					return err
				}
			}
		})}
		handle, at := servePackets(t, f, m)
		conntest.Each(t, 8, func(i int) error {
			c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(at))
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			p := make([]byte, 2000)
			for j := 1; j <= 50; j++ {
				if _, err := c.Write([]byte("hello")); err != nil {
					return err
				}
				n, err := c.Read(p)
				if err != nil {
					return err
				}
				if want := fmt.Sprintf("hello %d %v", j, c.LocalAddr()); string(p[:n]) != want {
					return fmt.Errorf("%q, not %q", p[:n], want)
				}
			}
			_, err = c.Write([]byte("bye"))
			return err
		})
		conntest.Eventually(t, func() bool { return m.Len() == 0 })
		require.NoError(t, handle.Close())
	})
}

func TestSessionTasksGetAnErrorAtTheirEnd(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		ends := make(chan error, 10)
		serve := packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			b := make([]byte, 100)
			for {
				n, err := p.Recv(cx, b)
				if err != nil {
					ends <- err
					return err
				}
				switch string(b[:n]) {
				case "panic":
					panic("on demand")
				case "nil":
					panic(nil)
				case "fail":
					return errTest
				}
				requireSent(p.Send(b[:n]))
			}
		})
		m := &packet.Sessions{Idle: 50 * time.Millisecond, Handler: serve}
		_, at := servePackets(t, f, m)
		c := udpClient(t, at)
		exchange(t, c, "idle")
		require.ErrorIs(t, conntest.Receive(t, ends), os.ErrDeadlineExceeded)
		conntest.Eventually(t, func() bool { return m.Len() == 0 })
		panics, errs := func() uint64 { return f.Stats().HandlerPanics }, func() uint64 { return f.Stats().HandlerErrors }
		for text, count := range map[string]func() uint64{"panic": panics, "nil": panics, "fail": errs} {
			before := count()
			_, err := c.Write([]byte(text))
			require.NoError(t, err)
			conntest.Eventually(t, func() bool { return count() > before && m.Len() == 0 })
			exchange(t, c, "again") // in another session
			require.ErrorIs(t, conntest.Receive(t, ends), os.ErrDeadlineExceeded)
		}
		handle, at := servePackets(t, f, &packet.Sessions{Idle: time.Hour, Handler: serve})
		exchange(t, udpClient(t, at), "close")
		require.NoError(t, handle.Close())
		require.ErrorIs(t, conntest.Receive(t, ends), net.ErrClosed)
	})
}

func requireSent(err error) {
	if err != nil {
		panic(err)
	}
}

// Where sends count, a session lives as long as its task sends, though the peer is silent.
func TestSendsOfATaskKeepItsSession(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := packetFixture(t, backend, 2)
		conntest.Punctual(t, 100*time.Millisecond, func(idle time.Duration, alive func()) error {
			ended := make(chan time.Duration, 1)
			m := &packet.Sessions{Idle: idle, CountSent: true, Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
				began := time.Now()
				sends := sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
					for range 30 {
						if err := p.Send([]byte("still here")); err != nil {
							return struct{}{}, err
						}
						alive()
						if _, err := sched.Await(cx, sched.Sleep(idle/10)); err != nil {
							return struct{}{}, err
						}
					}
					return struct{}{}, nil
				})
				b := make([]byte, 10)
				for {
					if _, err := p.Recv(cx, b); err != nil {
						lived := time.Since(began)
						sends.Abort()
						_, _ = sched.Await(cx, sends)
						ended <- lived
						return nil
					}
				}
			})}
			_, at := servePackets(t, f, m)
			_, err := udpClient(t, at).Write([]byte("hello"))
			require.NoError(t, err)
			if lived := conntest.Receive(t, ended); lived <= 3*idle {
				return fmt.Errorf("the session lived for %v", lived)
			}
			return nil
		})
	})
}

func TestAPeersSendReturnsTheKernelsError(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := packetFixture(t, backend, 1)
		sent := make(chan error, 2)
		var kept atomic.Pointer[packet.Peer]
		handle, at := servePackets(t, f, &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			kept.Store(p)
			sent <- p.Send(make([]byte, 65508))
			_, err := p.Recv(cx, make([]byte, 1))
			for err == nil {
				_, err = p.Recv(cx, make([]byte, 1))
			}
			return nil
		})})
		_, err := udpClient(t, at).Write([]byte("hello"))
		require.NoError(t, err)
		requireOpError(t, conntest.Receive(t, sent), "write", syscall.EMSGSIZE)
		require.NoError(t, handle.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		requireOpError(t, kept.Load().Send(nil), "write", net.ErrClosed)
	})
}

// The number of datagrams that wait for a task is bounded.
func TestDatagramsThatATaskDoesNotReceiveAreDropped(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := packetFixture(t, backend, 1)
		dropped := make(chan uint64, 1)
		_, at := servePackets(t, f, &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			for p.Dropped() == 0 {
				if _, err := sched.Await(cx, sched.Sleep(time.Millisecond)); err != nil {
					return err
				}
			}
			b := make([]byte, 10)
			for range 64 {
				if _, err := p.TryRecv(b); err != nil {
					return err
				}
			}
			if _, err := p.TryRecv(b); !errors.Is(err, packet.ErrWouldBlock) {
				return errors.New("more was kept")
			}
			dropped <- p.Dropped()
			return nil
		})})
		c := dialTaskUDP(t, f, at)
		ms := make([]packet.Message[netip.AddrPort], 100)
		n, err := c.SendBatch(t.Context(), ms)
		require.NoError(t, err)
		require.Equal(t, 100, n)
		require.Positive(t, conntest.Receive(t, dropped))
	})
}

// A deadline ends a receive that waits, also if it is set meanwhile. After another deadline the
// session goes on.
func TestAPeerHasDeadlines(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, _ := packetFixture(t, backend, workers)
		peers, ends := make(chan *packet.Peer, 1), make(chan error, 1)
		handle, at := servePackets(t, f, &packet.Sessions{Handler: packet.SessionTasks(func(cx *sched.Context, p *packet.Peer) error {
			b := make([]byte, 10)
			if _, err := p.Recv(cx, b); err != nil {
				return err
			}
			peers <- p
			for range 2 {
				_, err := p.Recv(cx, b)
				ends <- err
				if err := p.SetReadDeadline(time.Time{}); err != nil {
					return err
				}
			}
			n, err := p.Recv(cx, b)
			if err == nil && string(b[:n]) != "again" {
				err = fmt.Errorf("%q", b[:n])
			}
			ends <- err
			_, err = p.Recv(cx, b)
			return err
		})})
		c := udpClient(t, at)
		_, err := c.Write([]byte("hello"))
		require.NoError(t, err)
		p := conntest.Receive(t, peers)
		require.NoError(t, p.SetDeadline(time.Now().Add(-time.Second)))
		requireOpError(t, conntest.Receive(t, ends), "read", os.ErrDeadlineExceeded)
		requireOpError(t, p.Send(nil), "write", os.ErrDeadlineExceeded)
		conntest.Eventually(t, func() bool { _, err := p.TryRecv(nil); return err == packet.ErrWouldBlock })
		require.NoError(t, p.SetReadDeadline(time.Now().Add(time.Hour)))
		require.NoError(t, p.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		requireOpError(t, conntest.Receive(t, ends), "read", os.ErrDeadlineExceeded)
		_, err = c.Write([]byte("again"))
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, ends))
		require.NoError(t, p.SetWriteDeadline(time.Now().Add(time.Hour)))
		require.NoError(t, p.Send([]byte("answer")))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.Recv(ctx, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, handle.Close())
		conntest.Eventually(t, func() bool { return errors.Is(p.SetDeadline(time.Time{}), net.ErrClosed) })
	})
}
