package packet_test

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

func TestAPacketSocketThatClosesSendsWhatWasWrittenAndFreesItsPort(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		closed := make(chan error, 1)
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		_ = sink.SetReadBuffer(4 << 20)
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		h := &funcs{lives: lives, close: func(c *packet.Conn, err error) {
			require.ErrorIs(t, c.WriteTo(nil, to), net.ErrClosed)
			closed <- err
		}}
		handle, at := servePackets(t, f, h)
		require.Equal(t, 1, f.Len(), "a packet socket counts")
		require.Equal(t, at, handle.LocalAddr())
		const n = 300
		require.NoError(t, handle.Do(func(c *packet.Conn) {
			require.Equal(t, at, c.LocalAddr())
			require.False(t, c.RemoteAddr().IsValid())
			for i := range n {
				require.NoError(t, c.WriteTo(fmt.Appendf(nil, "%d", i), to))
			}
			require.NoError(t, c.Close())
			require.ErrorIs(t, c.Close(), net.ErrClosed)
			require.ErrorIs(t, c.WriteTo(nil, to), net.ErrClosed)
		}))
		require.NoError(t, conntest.Receive(t, closed))
		listenUDP(t, "udp4", at.String()) // the port is free by then
		require.NoError(t, sink.SetReadDeadline(time.Now().Add(conntest.Patience)))
		p := make([]byte, 100)
		for i := range n {
			m, err := sink.Read(p)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), string(p[:m]))
		}
		require.NoError(t, f.Wait(t.Context()))
		for _, err := range []error{handle.Send(nil, to), handle.Close(), handle.Abort(), handle.Do(nil), packet.Handle{}.Close()} {
			require.ErrorIs(t, err, net.ErrClosed)
		}
		require.False(t, handle.LocalAddr().IsValid())
	})
}

func TestDrainAndAbortReachPacketSockets(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		closed := make(chan error, 2)
		ends := func(_ *packet.Conn, err error) { closed <- err }
		drained := make(chan bool, 1)
		servePackets(t, f, &funcs{lives: lives, close: ends})
		servePackets(t, f, &funcs{lives: lives, close: ends, drain: func(*packet.Conn) { drained <- true }})
		require.Equal(t, 2, f.Len())
		f.Drain()
		require.NoError(t, conntest.Receive(t, closed), "Base closes")
		conntest.Receive(t, drained)
		conntest.Eventually(t, func() bool { return f.Len() == 1 })
		f.Abort()
		require.ErrorIs(t, conntest.Receive(t, closed), net.ErrClosed)
		require.NoError(t, f.Wait(t.Context()))
	})
}

// Sockets are closed in all ways, from several sides at once, while datagrams come and go.
func TestPacketSocketsThatCloseUnderTrafficLeaveNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		for round := range 10 {
			var seen atomic.Int64
			closed := make(chan error, 1)
			h := &funcs{lives: lives,
				packets: func(c *packet.Conn, batch []packet.Packet) error {
					seen.Add(int64(len(batch)))
					return echoPackets(c, batch)
				},
				close: func(_ *packet.Conn, err error) { closed <- err }}
			handle, at := servePackets(t, f, h)
			var wg sync.WaitGroup
			stop := make(chan bool)
			for range 3 {
				c := udpClient(t, at)
				wg.Add(2)
				go func() {
					defer wg.Done()
					for i := 0; ; i++ {
						select {
						case <-stop:
							_ = c.Close()
							return
						default:
							_, _ = c.Write(noise[i%1000 : i%1000+100]) // refused once it has closed
						}
					}
				}()
				go func() {
					defer wg.Done()
					p := make([]byte, 200)
					for {
						if _, err := c.Read(p); err != nil {
							select {
							case <-stop:
								return
							default:
							}
						}
					}
				}()
			}
			conntest.Eventually(t, func() bool { return seen.Load() > 100 })
			conntest.Each(t, 4, func(i int) error {
				switch (round + i) % 4 {
				case 0:
					_ = handle.Close()
				case 1:
					_ = handle.Abort()
				case 2:
					f.Drain()
				default:
					_ = handle.Do(func(c *packet.Conn) { _ = c.Close() })
				}
				return nil
			})
			conntest.Receive(t, closed)
			close(stop)
			wg.Wait()
			require.Empty(t, closed)
		}
		require.NoError(t, f.Wait(t.Context()))
	})
}

func TestAnErrorOrPanicOfAPacketHandlerClosesTheSocket(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 2)
		for name, what := range map[string]func() error{
			"error": func() error { return errTest },
			"panic": func() error { panic(errTest) },
			"nil":   func() error { panic(nil) },
			"exit":  func() error { runtime.Goexit(); return nil },
		} {
			closed := make(chan error, 1)
			ends := func(_ *packet.Conn, err error) { closed <- err }
			check := func() {
				err := conntest.Receive(t, closed)
				var p *conn.PanicError
				switch name {
				case "panic":
					require.ErrorAs(t, err, &p)
					require.Equal(t, errTest, p.Value)
				case "nil":
					require.ErrorAs(t, err, &p)
					require.ErrorAs(t, err, new(*runtime.PanicNilError))
				case "exit":
					require.ErrorIs(t, err, sched.ErrGoexit)
				default:
					require.ErrorIs(t, err, errTest)
				}
			}
			servePackets(t, f, &funcs{lives: lives, close: ends, open: func(*packet.Conn) error { return what() }})
			check()
			h := &funcs{lives: lives, close: ends}
			h.packets = func(*packet.Conn, []packet.Packet) error { return what() }
			_, at := servePackets(t, f, h)
			_, err := udpClient(t, at).Write([]byte("x"))
			require.NoError(t, err)
			check()
			h = &funcs{lives: lives, close: ends}
			h.timer = func(*packet.Conn) error { return what() }
			h.open = func(c *packet.Conn) error { return c.SetTimer(time.Now()) }
			servePackets(t, f, h)
			check()
			h = &funcs{lives: lives}
			h.close = func(c *packet.Conn, err error) { ends(c, err); _ = what() }
			h.open = func(c *packet.Conn) error { return what() }
			servePackets(t, f, h)
			check()
		}
	})
}

func TestThePacketQueueIsBounded(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1, func(c *conn.Config) { c.LowWater, c.HighWater, c.MaxWrite = 1000, 5000, 10_000 })
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		handle, _ := servePackets(t, f, &funcs{lives: lives})
		filled := make(chan int, 1)
		stuck, goOn := make(chan bool), make(chan bool)
		require.NoError(t, handle.Do(func(c *packet.Conn) {
			n := 0
			for ; c.WriteTo(noise[:100], to) == nil; n++ {
				require.Less(t, n, 1000)
			}
			require.ErrorIs(t, c.WriteTo(nil, to), conn.ErrWriteQueueFull)
			require.GreaterOrEqual(t, c.Unsent(), 10_000)
			filled <- n
		}))
		require.NotZero(t, conntest.Receive(t, filled))
		require.NoError(t, handle.Do(func(*packet.Conn) { close(stuck); <-goOn }))
		conntest.Receive(t, stuck)
		conntest.Eventually(t, func() bool { return handle.Send(noise[:1000], to) == conn.ErrWriteQueueFull })
		close(goOn)
		conntest.Eventually(t, func() bool { return handle.Send(nil, to) == nil }, "the queue empties")
	})
}

func TestPacketTimerFiresOnceAtItsTime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 2)
		fired := make(chan time.Time, 10)
		h := &funcs{lives: lives, timer: func(*packet.Conn) error { fired <- time.Now(); return nil }}
		handle, _ := servePackets(t, f, h)
		at := time.Now().Add(20 * time.Millisecond)
		require.NoError(t, handle.Do(func(c *packet.Conn) {
			require.NoError(t, c.SetTimer(at.Add(-time.Second)))
			require.NoError(t, c.SetTimer(time.Time{}))
			require.NoError(t, c.SetTimer(at))
			c.SetValue("mine")
			require.Equal(t, "mine", c.Value())
			require.NotNil(t, c.Group())
			require.WithinDuration(t, time.Now(), c.Now(), conntest.Patience)
			require.Less(t, c.Worker(), 2)
		}))
		require.False(t, conntest.Receive(t, fired).Before(at))
		require.Empty(t, fired)
	})
}

// While a handler blocks a worker, another worker serves the sockets that receive through the same
// reactor.
func TestPacketSocketsBesideAStuckHandlerAreServed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 2)
		stuck, leave := make(chan bool), make(chan bool)
		defer close(leave)
		var all []netip.AddrPort
		for range 6 {
			_, at := servePackets(t, f, &funcs{lives: lives, packets: func(c *packet.Conn, batch []packet.Packet) error {
				for _, p := range batch {
					if string(p.Data) == "stop" {
						stuck <- true
						<-leave
					}
				}
				return echoPackets(c, batch)
			}})
			exchange(t, udpClient(t, at), "hello")
			all = append(all, at)
		}
		_, err := udpClient(t, all[0]).Write([]byte("stop"))
		require.NoError(t, err)
		conntest.Receive(t, stuck)
		for range 5 {
			for _, at := range all[1:] {
				exchange(t, udpClient(t, at), "still")
			}
		}
	})
}

// The group ends a Socket as it ends sockets with handlers. The Socket's calls return an error.
func TestAbortEndsSocketsOfGoroutines(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s, err := packet.ListenSocket(f, listenUDP(t, "udp4", "127.0.0.1:0"))
		require.NoError(t, err)
		read, written := make(chan error, 1), make(chan error, 1)
		go func() { _, _, err := s.ReadFrom(make([]byte, 10)); read <- err }()
		to := listenUDP(t, "udp4", "127.0.0.1:0").LocalAddr()
		go func() {
			for {
				if _, err := s.WriteTo(noise[:100], to); err != nil {
					written <- err
					return
				}
			}
		}()
		f.Abort()
		require.ErrorIs(t, conntest.Receive(t, read), net.ErrClosed)
		require.ErrorIs(t, conntest.Receive(t, written), net.ErrClosed)
		require.NoError(t, f.Wait(t.Context()))
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.Close(), net.ErrClosed)
	})
}

func TestPacketSocketsThatCannotBeMadeReturnTheReason(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1)
		h := &funcs{lives: lives}
		_, err := packet.Dial(f, netip.AddrPort{}, h)
		requireOpError(t, err, "dial", syscall.EDESTADDRREQ)
		_, err = packet.Dial(f, netip.MustParseAddrPort("[fe80::1%nosuchzone]:9"), h)
		requireOpError(t, err, "dial")
		_, err = packet.DialSocket(f, netip.AddrPort{})
		requireOpError(t, err, "dial", syscall.EDESTADDRREQ)
		gone := listenUDP(t, "udp4", "127.0.0.1:0")
		require.NoError(t, gone.Close())
		_, err = packet.Listen(f, gone, h)
		require.ErrorIs(t, err, net.ErrClosed)
		require.Zero(t, f.Len())

		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 1})
		require.NoError(t, err)
		require.NoError(t, g.Close())
		_, err = packet.Listen(g, listenUDP(t, "udp4", "127.0.0.1:0"), h)
		require.ErrorIs(t, err, sched.ErrClosed)
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = packet.ListenUDP(g, listenUDP(t, "udp4", "127.0.0.1:0"))
		requireOpError(t, err, "listen", net.ErrClosed)
	})
	for name, cfg := range map[string]reactor.Config{
		"use a power of two":     {Datagrams: 3},
		"use 1 to 65535 bytes":   {DatagramSize: 65536},
		"up to 32768":            {Datagrams: 1 << 16},
		"DatagramSize is -1; us": {DatagramSize: -1},
	} {
		_, err := conn.NewGroup(conn.Config{Reactor: cfg}, sched.Config{})
		require.ErrorContains(t, err, name)
	}
}
