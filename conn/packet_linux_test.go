package conn_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// packetFuncs is a packet handler of functions; what is nil is PacketBase's.
type packetFuncs struct {
	open    func(*conn.PacketConn) error
	packets func(*conn.PacketConn, []conn.Packet) error
	fail    func(*conn.PacketConn, error) error
	timer   func(*conn.PacketConn) error
	drain   func(*conn.PacketConn)
	close   func(*conn.PacketConn, error)

	lives *packetLives
}

// packetLives watches over packet handlers as an audit does over those of streams.
type packetLives struct {
	mu    sync.Mutex
	lives map[*conn.PacketConn]*life
	bad   []string
}

func (a *packetLives) call(c *conn.PacketConn, method string) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lives == nil {
		a.lives = map[*conn.PacketConn]*life{}
	}
	l := a.lives[c]
	if l == nil {
		l = &life{}
		a.lives[c] = l
	}
	if l.running.Add(1) != 1 {
		a.bad = append(a.bad, method+" ran beside another method")
	}
	switch method {
	case "OnOpen":
		l.opens.Add(1)
	case "OnClose":
		l.closes.Add(1)
	default:
		if l.opens.Load() != 1 || l.closes.Load() != 0 {
			a.bad = append(a.bad, method+" came before OnOpen or after OnClose")
		}
	}
	return func() { l.running.Add(-1) }
}

func (a *packetLives) check(t *testing.T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.bad)
	for _, l := range a.lives {
		require.EqualValues(t, 1, l.closes.Load(), "OnClose")
		require.LessOrEqual(t, l.opens.Load(), int32(1), "OnOpen")
	}
}

func (h *packetFuncs) OnOpen(c *conn.PacketConn) error {
	defer h.lives.call(c, "OnOpen")()
	if h.open != nil {
		return h.open(c)
	}
	return nil
}

func (h *packetFuncs) OnPackets(c *conn.PacketConn, batch []conn.Packet) error {
	defer h.lives.call(c, "OnPackets")()
	if h.packets != nil {
		return h.packets(c, batch)
	}
	return nil
}

func (h *packetFuncs) OnError(c *conn.PacketConn, err error) error {
	defer h.lives.call(c, "OnError")()
	if h.fail != nil {
		return h.fail(c, err)
	}
	return nil
}

func (h *packetFuncs) OnTimer(c *conn.PacketConn) error {
	defer h.lives.call(c, "OnTimer")()
	if h.timer != nil {
		return h.timer(c)
	}
	return nil
}

func (h *packetFuncs) OnDrain(c *conn.PacketConn) {
	defer h.lives.call(c, "OnDrain")()
	if h.drain != nil {
		h.drain(c)
		return
	}
	conn.PacketBase{}.OnDrain(c)
}

func (h *packetFuncs) OnClose(c *conn.PacketConn, err error) {
	defer h.lives.call(c, "OnClose")()
	if h.close != nil {
		h.close(c, err)
	}
}

// packetFixture is a group whose packet handlers are watched.
func packetFixture(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) (*fixture, *packetLives) {
	t.Helper()
	lives := &packetLives{}
	t.Cleanup(func() { lives.check(t) }) // after the fixture has been closed
	return newFixture(t, backend, workers, configure...), lives
}

func listenUDP(t testing.TB, network, addr string) *net.UDPConn {
	t.Helper()
	pc, err := net.ListenPacket(network, addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	return pc.(*net.UDPConn)
}

// servePackets serves a free address of the loopback interface.
func servePackets(t *testing.T, f *fixture, h conn.PacketHandler) (conn.PacketHandle, netip.AddrPort) {
	t.Helper()
	return servePacketsOn(t, f, "udp4", "127.0.0.1:0", h)
}

func servePacketsOn(t *testing.T, f *fixture, network, addr string, h conn.PacketHandler) (conn.PacketHandle, netip.AddrPort) {
	t.Helper()
	pc := listenUDP(t, network, addr)
	_ = pc.SetReadBuffer(4 << 20)
	at := pc.LocalAddr().(*net.UDPAddr).AddrPort()
	handle, err := f.ListenPacket(pc, h)
	require.NoError(t, err)
	require.NoError(t, pc.Close())
	return handle, at
}

func echoPackets(c *conn.PacketConn, batch []conn.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

// udpClient is an ordinary socket that gives up when a test has hung long enough.
func udpClient(t testing.TB, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetReadBuffer(4 << 20)
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return c
}

func exchange(t testing.TB, c *net.UDPConn, text string) {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	p := make([]byte, 1<<16)
	n, err := c.Read(p)
	if err != nil {
		t.Fatalf("%v\n%s", err, conntest.Dump())
	}
	require.Equal(t, text, string(p[:n]))
}

// Scenario 74.
func TestDatagramsOfEverySizeArriveWholeAndTooLongOnesFailAlone(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 10)
		var got atomic.Int64
		h := &packetFuncs{lives: lives, fail: func(_ *conn.PacketConn, err error) error { fails <- err; return nil }}
		h.packets = func(c *conn.PacketConn, batch []conn.Packet) error {
			for _, p := range batch {
				got.Add(1)
				if string(p.Data) == "too long" {
					err := c.WriteTo(make([]byte, 65508), p.From)
					require.ErrorIs(t, err, syscall.EMSGSIZE)
					var op *net.OpError
					require.ErrorAs(t, err, &op)
				}
				if err := c.WriteTo(p.Data, p.From); err != nil {
					return err
				}
			}
			return nil
		}
		_, at := servePackets(t, f, h)
		c := udpClient(t, at)
		for i, n := range []int{0, 1, 0, 64, 1472, 1500, 9000, 0, 65507} {
			exchange(t, c, string(noise[i:i+n]))
		}
		exchange(t, c, "too long")

		// Boundaries are kept in batches, and where batches are cut.
		const count = 500
		for i := range count {
			_, err := c.Write(noise[i : i+i%70])
			require.NoError(t, err)
		}
		p := make([]byte, 1<<16)
		for i := range count {
			n, err := c.Read(p)
			if err != nil {
				t.Fatalf("%d of %d: %v\n%s", i, count, err, conntest.Dump())
			}
			require.Equal(t, string(noise[i:i+i%70]), string(p[:n]))
		}
		require.EqualValues(t, count+10, got.Load())

		// What the kernel refuses is told with its destination, and nothing else suffers.
		six := &packetFuncs{lives: lives, fail: h.fail}
		handle, _ := servePacketsOn(t, f, "udp6", "[::1]:0", six)
		sink := listenUDP(t, "udp6", "[::1]:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		require.NoError(t, handle.Do(func(c *conn.PacketConn) {
			require.NoError(t, conn.NeverFragment(c))
			require.NoError(t, c.WriteTo([]byte("before"), to))
			require.NoError(t, c.WriteTo(make([]byte, 65520), to))
			require.NoError(t, c.WriteTo([]byte("after"), to))
		}))
		for _, want := range []string{"before", "after"} {
			require.NoError(t, sink.SetReadDeadline(time.Now().Add(conntest.Patience)))
			n, err := sink.Read(p)
			require.NoError(t, err)
			require.Equal(t, want, string(p[:n]))
		}
		err := conntest.Receive(t, fails)
		requireOpError(t, err, "write", syscall.EMSGSIZE)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, to.String(), op.Addr.String())
		require.Empty(t, fails)
	})
}

// Scenario 75.
func TestARefusalOnAConnectedSocketIsAnErrorAndTheSocketLives(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		peer := listenUDP(t, "udp4", "127.0.0.1:0")
		to := peer.LocalAddr().(*net.UDPAddr).AddrPort()
		require.NoError(t, peer.Close())
		fails, got := make(chan error, 10), make(chan string, 10)
		h := &packetFuncs{lives: lives,
			fail: func(_ *conn.PacketConn, err error) error { fails <- err; return nil },
			packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
				for _, p := range batch {
					got <- string(p.Data)
				}
				return nil
			},
		}
		handle, err := f.DialPacket(to, h)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, handle.Send([]byte("anybody there?"), netip.AddrPort{}))
			err := conntest.Receive(t, fails)
			requireOpError(t, err, err.(*net.OpError).Op, syscall.ECONNREFUSED)
		}
		peer = listenUDP(t, "udp4", to.String())
		require.NoError(t, peer.SetReadDeadline(time.Now().Add(conntest.Patience)))
		_, err = peer.WriteToUDPAddrPort([]byte("now there is"), handle.LocalAddr())
		require.NoError(t, err)
		require.Equal(t, "now there is", conntest.Receive(t, got))
		require.NoError(t, handle.Send([]byte("good"), netip.AddrPort{}))
		p := make([]byte, 100)
		n, from, err := peer.ReadFromUDPAddrPort(p)
		require.NoError(t, err)
		require.Equal(t, "good", string(p[:n]))
		require.Equal(t, handle.LocalAddr(), from)
		require.Empty(t, fails)
		require.NoError(t, handle.Close())
	})
}

func TestAHundredThousandDatagramsComeBackWhole(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		var largest atomic.Int64
		h := &packetFuncs{lives: lives, packets: func(c *conn.PacketConn, batch []conn.Packet) error {
			if n := int64(len(batch)); n > largest.Load() {
				largest.Store(n)
			}
			return echoPackets(c, batch)
		}}
		_, at := servePackets(t, f, h)
		total, inFlight := 100_000, 64
		if testing.Short() {
			total = 10_000
		}
		const clients = 4
		conntest.Each(t, clients, func(i int) error {
			c := udpClient(t, at)
			p := make([]byte, 2048)
			sent, received := 0, 0
			for received < total/clients {
				for sent < total/clients && sent-received < inFlight {
					if _, err := c.Write(numbered(i, sent)); err != nil {
						return err
					}
					sent++
				}
				n, err := c.Read(p)
				if err != nil {
					return fmt.Errorf("%d of %d sent came back: %w", received, sent, err)
				}
				if string(p[:n]) != string(numbered(i, received)) {
					return fmt.Errorf("%d came back changed or out of order", received)
				}
				received++
			}
			return nil
		})
		require.Greater(t, largest.Load(), int64(1), "datagrams were never handed over in batches")
	})
}

// numbered is a datagram that no other one is like.
func numbered(client, i int) []byte {
	at := (client*7919 + i*31) % (len(noise) - 2000)
	return append(fmt.Appendf(nil, "%d/%d:", client, i), noise[at:at+i%1400]...)
}

func TestReceivingDatagramsResumesWhenBuffersReturn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers, func(c *conn.Config) { c.Reactor.Datagrams, c.Reactor.DatagramSize = 4, 300 })
		entered, leave := make(chan bool), make(chan bool)
		var once sync.Once
		got := make(chan string, 1000)
		h := &packetFuncs{lives: lives, packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
			once.Do(func() { close(entered); <-leave }) // with buffers in hand
			for _, p := range batch {
				got <- string(p.Data)
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		c := udpClient(t, at)
		const n = 200
		for i := range n {
			_, err := c.Write(fmt.Appendf(nil, "datagram %d", i))
			require.NoError(t, err)
			if i == 0 {
				conntest.Receive(t, entered)
			}
		}
		close(leave)
		for i := range n {
			require.Equal(t, fmt.Sprint("datagram ", i), conntest.Receive(t, got))
		}
	})
}

func TestATruncatedDatagramSaysSo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, lives := packetFixture(t, backend, 1, func(c *conn.Config) { c.Reactor.DatagramSize = 100 })
		got := make(chan conn.Packet, 10)
		h := &packetFuncs{lives: lives, packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
			for _, p := range batch {
				p.Data = append([]byte(nil), p.Data...)
				got <- p
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		c := udpClient(t, at)
		for _, n := range []int{100, 101} {
			_, err := c.Write(noise[:n])
			require.NoError(t, err)
			p := conntest.Receive(t, got)
			require.Equal(t, noise[:100], p.Data)
			require.Equal(t, n > 100, p.Truncated)
			require.Equal(t, c.LocalAddr().(*net.UDPAddr).AddrPort(), p.From)
		}
	})
}

func TestTheDestinationOfADatagramIsTold(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for network, to := range map[string]string{"udp4": "127.0.0.1", "udp6": "::1"} {
			f, lives := packetFixture(t, backend, 1)
			got := make(chan conn.Packet, 10)
			h := &packetFuncs{lives: lives,
				open: func(c *conn.PacketConn) error { return c.WantDestination(true) },
				packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
					got <- batch[0]
					return nil
				}}
			handle, at := servePacketsOn(t, f, network, ":0", h)
			opened(t, handle)
			c := udpClient(t, netip.AddrPortFrom(netip.MustParseAddr(to), at.Port()))
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			p := conntest.Receive(t, got)
			require.Equal(t, to, p.To.String())
			require.NotZero(t, p.Interface)
		}
	})
}

// opened waits until OnOpen has run.
func opened(t *testing.T, h conn.PacketHandle) {
	t.Helper()
	ch := make(chan bool, 1)
	require.NoError(t, h.Do(func(*conn.PacketConn) { ch <- true }))
	conntest.Receive(t, ch)
}

func TestSegmentsComeAndGoAsDatagrams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		h := &packetFuncs{lives: lives, packets: echoPackets, open: func(c *conn.PacketConn) error {
			if err := c.WantCoalesced(true); !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			return nil
		}}
		_, at := servePackets(t, f, h)
		got := make(chan string, 1000)
		from := &packetFuncs{lives: lives, packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
			for _, p := range batch {
				got <- string(p.Data)
			}
			return nil
		}}
		handle, _ := servePackets(t, f, from)
		data := noise[:300*100+7]
		require.NoError(t, handle.Do(func(c *conn.PacketConn) {
			require.NoError(t, c.WriteSegments(data, 300, at))
		}))
		for rest := data; len(rest) > 0; {
			n := min(300, len(rest))
			require.Equal(t, string(rest[:n]), conntest.Receive(t, got))
			rest = rest[n:]
		}
	})
}

func TestMulticastReachesThoseWhoJoined(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		lo, err := net.InterfaceByName("lo")
		require.NoError(t, err)
		f, lives := packetFixture(t, backend, 1)
		group := netip.MustParseAddr("239.255.77.1")
		got := make(chan string, 10)
		h := &packetFuncs{lives: lives,
			open: func(c *conn.PacketConn) error { return c.JoinGroup(lo, group) },
			packets: func(_ *conn.PacketConn, batch []conn.Packet) error {
				for _, p := range batch {
					got <- string(p.Data)
				}
				return nil
			}}
		handle, at := servePacketsOn(t, f, "udp4", "0.0.0.0:0", h)
		opened(t, handle)
		sender, _ := servePackets(t, f, &packetFuncs{lives: lives, open: func(c *conn.PacketConn) error {
			require.ErrorIs(t, c.JoinGroup(lo, netip.MustParseAddr("127.0.0.1")), syscall.EINVAL)
			require.ErrorIs(t, c.SetMulticastTTL(256), syscall.EINVAL)
			return errors.Join(c.SetMulticastInterface(lo), c.SetMulticastTTL(1), c.SetMulticastLoopback(true),
				c.SetReadBuffer(1<<20), c.SetWriteBuffer(1<<20))
		}})
		to := netip.AddrPortFrom(group, at.Port())
		require.NoError(t, sender.Send([]byte("to all"), to))
		require.Equal(t, "to all", conntest.Receive(t, got))

		left := make(chan error, 1)
		require.NoError(t, handle.Do(func(c *conn.PacketConn) { left <- c.LeaveGroup(lo, group) }))
		require.NoError(t, conntest.Receive(t, left))
		require.NoError(t, sender.Send([]byte("to nobody"), to))
		require.NoError(t, sender.Send([]byte("to you"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())))
		require.Equal(t, "to you", conntest.Receive(t, got))
	})
}

// Where the kernel refuses segments, what was joined is sent singly.
func TestJoinedDatagramsAreSentSinglyWhereTheKernelRefusesSegments(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f, lives := packetFixture(t, backend, workers)
		fails := make(chan error, 10)
		h := &packetFuncs{lives: lives, fail: func(_ *conn.PacketConn, err error) error { fails <- err; return nil }}
		h.open = func(c *conn.PacketConn) error { return conn.NoChecksums(c) }
		handle, _ := servePackets(t, f, h)
		sink := listenUDP(t, "udp4", "127.0.0.1:0")
		to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
		for round := range 3 {
			require.NoError(t, handle.Do(func(c *conn.PacketConn) {
				for i := range 20 {
					require.NoError(t, c.WriteTo(noise[i:i+100], to))
				}
				require.NoError(t, c.WriteSegments(noise[20:20+250], 100, to))
				if round == 2 {
					require.NoError(t, c.Close(), "what has to be sent again is sent before the end")
				}
			}))
			p := make([]byte, 200)
			require.NoError(t, sink.SetReadDeadline(time.Now().Add(conntest.Patience)))
			for i := range 20 {
				n, err := sink.Read(p)
				require.NoError(t, err)
				require.Equal(t, noise[i:i+100], p[:n])
			}
			for rest := noise[20 : 20+250]; len(rest) > 0; {
				n, err := sink.Read(p)
				require.NoError(t, err)
				require.Equal(t, rest[:n], p[:n])
				rest = rest[n:]
			}
		}
		require.Empty(t, fails)
	})
}
