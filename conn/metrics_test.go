package conn_test

import (
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/packet"
)

// value is the sum of a family's samples that have all of these labels, "name=value". A histogram
// counts its values.
func value(g *conn.Group, name string, labels ...string) (sum float64) {
	for _, f := range g.Metrics() {
		if f.Name != name {
			continue
		}
	samples:
		for _, s := range f.Samples {
			for _, want := range labels {
				key, v, _ := strings.Cut(want, "=")
				if !has(s.Labels, key, v) {
					continue samples
				}
			}
			if s.Distribution != nil {
				sum += float64(s.Distribution.Count)
			}
			sum += s.Value
		}
	}
	return sum
}

// has reports whether there is the label; one with the value "" is not there.
func has(labels []metrics.Label, name, value string) bool {
	for _, l := range labels {
		if l.Name == name {
			return l.Value == value
		}
	}
	return value == ""
}

// becomes waits until a figure has that value.
func becomes(t *testing.T, g *conn.Group, want float64, name string, labels ...string) {
	t.Helper()
	conntest.Eventually(t, func() bool { return value(g, name, labels...) == want }, name, labels, want)
}

// Each family of a group has a line, in which it moves by a known amount.
var moves = map[string]func(t *testing.T, backend string){
	"suiro.connections":          connectionsMove,
	"suiro.active_connections":   connectionsMove,
	"suiro.accepted_connections": connectionsMove,
	"suiro.network.io":           connectionsMove,
	"suiro.connection.duration":  endingsMove,
	"suiro.handler.errors":       endingsMove,
	"suiro.handler.panics":       endingsMove,
	"suiro.rejected_connections": rejectionsMove,
	"suiro.accept_errors":        acceptErrorsMove,
	"suiro.network.unsent":       unsentMoves,
	"suiro.memory.buffered":      bufferedMoves,
	"suiro.memory.write_excess":  unsentMoves,
	"suiro.shed_connections":     shedMoves,

	"suiro.active_tls_handshakes":  handshakesMove,
	"suiro.tls_handshake.duration": handshakesMove,

	"suiro.client.active_connections":     dialsMove,
	"suiro.client.connections":            dialsMove,
	"suiro.client.connection.duration":    dialsMove,
	"suiro.client.network.io":             dialsMove,
	"suiro.client.network.unsent":         clientUnsentMoves,
	"suiro.client.active_tls_handshakes":  clientHandshakesMove,
	"suiro.client.tls_handshake.duration": clientHandshakesMove,

	"suiro.active_packet_sockets": datagramsMove,
	"suiro.datagrams":             datagramsMove,
	"suiro.datagram.io":           datagramsMove,
	"suiro.dropped_datagrams":     droppedMove,

	"suiro.reactor.buffer_exhaustions":   kernelFiguresMove,
	"suiro.io_uring.overflows":           kernelFiguresMove,
	"suiro.io_uring.shortages":           kernelFiguresMove,
	"suiro.io_uring.dropped_completions": kernelFiguresMove,
}

func TestEachFamilyOfAGroupHasATestThatMovesIt(t *testing.T) {
	conntest.Backends(t, eachFamilyHasATest)
}

func eachFamilyHasATest(t *testing.T, backend string) {
	f := newFixture(t, backend, 1)
	own := map[string]bool{}
	for _, family := range f.Runtime().Metrics() {
		own[family.Name] = true // they have tests in package sched
	}
	seen := map[string]bool{}
	for _, family := range f.Metrics() {
		require.False(t, seen[family.Name], "%s is there twice", family.Name)
		seen[family.Name] = true
		require.NotEmpty(t, family.Help, family.Name)
		require.NotEmpty(t, family.Unit, family.Name)
		require.True(t, own[family.Name] || moves[family.Name] != nil, "%s has no test", family.Name)
	}
	for name := range moves {
		require.True(t, seen[name], "there is no %s", name)
	}
}

func TestFamiliesOfAGroupMove(t *testing.T) {
	done := map[uintptr]bool{} // several families may have one test
	for _, name := range slices.Sorted(maps.Keys(moves)) {
		if f := reflect.ValueOf(moves[name]).Pointer(); !done[f] {
			done[f] = true
			t.Run(name, func(t *testing.T) { conntest.Backends(t, moves[name]) })
		}
	}
}

func tlsConfigs(t *testing.T) (server, client *tls.Config) {
	s := newSecret(t)
	return s.server.Config, s.client
}

func portOf(pc *net.UDPConn) string { return strconv.Itoa(pc.LocalAddr().(*net.UDPAddr).Port) }

func connectionsMove(t *testing.T, backend string) {
	f := serve(t, backend, 2, funcs{data: echo})
	host, port, err := net.SplitHostPort(f.addr.String())
	require.NoError(t, err)
	at := []string{"server.address=" + host, "server.port=" + port, "network.transport=tcp"}
	var all []net.Conn
	for range 3 {
		c := f.dial()
		write(t, c, "hello")
		require.Equal(t, "hello", string(read(t, c, 5)))
		all = append(all, c)
	}
	require.EqualValues(t, 3, value(f.Group, "suiro.connections"))
	require.EqualValues(t, 3, value(f.Group, "suiro.active_connections", at...))
	require.EqualValues(t, 3, value(f.Group, "suiro.accepted_connections", at...))
	require.EqualValues(t, 15, value(f.Group, "suiro.network.io", append(at, "network.io.direction=receive")...))
	becomes(t, f.Group, 15, "suiro.network.io", append(at, "network.io.direction=transmit")...)
	for i, c := range all {
		require.NoError(t, c.Close())
		becomes(t, f.Group, float64(2-i), "suiro.active_connections", at...)
		require.EqualValues(t, 15, value(f.Group, "suiro.network.io", "network.io.direction=receive"), "those of connections that have ended count")
		require.EqualValues(t, 15, value(f.Group, "suiro.network.io", "network.io.direction=transmit"))
	}
	becomes(t, f.Group, 0, "suiro.connections")
	require.EqualValues(t, 3, value(f.Group, "suiro.accepted_connections"))
	require.EqualValues(t, 3, value(f.Group, "suiro.connection.duration", "error.type="))
}

func endingsMove(t *testing.T, backend string) {
	told := make(chan struct{}, 1)
	f := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error {
		switch p, _ := c.Next(-1); string(p) {
		case "abort":
			c.Abort()
		case "panic":
			panic("as asked")
		case "fail":
			return io.ErrNoProgress
		case "late":
			return c.SetReadDeadline(c.Now().Add(-time.Second))
		case "reset":
			told <- struct{}{}
		}
		return nil
	}, deadline: func(c *conn.Conn) error { return syscall.ETIMEDOUT }})
	for _, e := range []struct{ say, as string }{
		{"abort", "aborted"}, {"panic", "panic"}, {"fail", "_OTHER"}, {"late", "timeout"}, {"reset", "reset"}, {"close", ""},
	} {
		c := f.dial()
		write(t, c, e.say)
		switch e.say {
		case "reset":
			conntest.Receive(t, told)
			reset(c)
		case "close":
			require.NoError(t, c.Close())
		default:
			_, _ = io.Copy(io.Discard, c)
			require.NoError(t, c.Close())
		}
		becomes(t, f.Group, 1, "suiro.connection.duration", "error.type="+e.as)
		becomes(t, f.Group, 0, "suiro.active_connections")
	}
	require.EqualValues(t, 6, value(f.Group, "suiro.connection.duration"))
	require.EqualValues(t, 2, value(f.Group, "suiro.handler.errors"), "fail and late")
	require.EqualValues(t, 1, value(f.Group, "suiro.handler.panics"))
}

func rejectionsMove(t *testing.T, backend string) {
	for _, limit := range []struct {
		why       string
		configure func(*conn.Config)
	}{
		{"max_conns", func(cfg *conn.Config) { cfg.MaxConns = 1 }},
		{"max_per_source", func(cfg *conn.Config) { cfg.MaxPerSource = 1 }},
	} {
		f := serve(t, backend, 1, funcs{data: echo}, limit.configure)
		c := f.dial()
		write(t, c, "a")
		read(t, c, 1)
		for range 2 {
			if c, err := dial(f.addr); err == nil { // else the reset was quicker
				_, err = c.Read(make([]byte, 1))
				require.Error(t, err)
				require.NoError(t, c.Close())
			}
		}
		becomes(t, f.Group, 2, "suiro.rejected_connections", "error.type="+limit.why)
		require.EqualValues(t, 2, value(f.Group, "suiro.rejected_connections"))
		require.EqualValues(t, 1, value(f.Group, "suiro.accepted_connections"))
	}
}

func acceptErrorsMove(t *testing.T, backend string) {
	if backend == "iocp" {
		t.Skip("no plan of faults makes its calls fail")
	}
	plan := conntest.Faults(t, faults.Rule{Call: faults.Accept, Errno: syscall.EMFILE, Odds: 1, Most: 3})
	f := serve(t, backend, 1, funcs{data: echo}, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
	c := f.dial()
	write(t, c, "a")
	read(t, c, 1)
	require.EqualValues(t, 3, value(f.Group, "suiro.accept_errors"))
}

// unsentMoves: the peer takes nothing of what the handler writes.
func unsentMoves(t *testing.T, backend string) {
	const much = 24 << 20
	f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
		_, err := c.Write(make([]byte, much))
		return err
	}})
	c := f.dial()
	becomes(t, f.Group, 1, "suiro.active_connections")
	conntest.Eventually(t, func() bool {
		sent := value(f.Group, "suiro.network.io", "network.io.direction=transmit")
		left := value(f.Group, "suiro.network.unsent")
		excess := value(f.Group, "suiro.memory.write_excess") // as of the last change that was reckoned
		return left > 256<<10 && sent+left == much && left-256<<10 <= excess && excess <= much-256<<10
	})
	read(t, c, much)
	becomes(t, f.Group, 0, "suiro.network.unsent")
	becomes(t, f.Group, 0, "suiro.memory.write_excess")
	becomes(t, f.Group, much, "suiro.network.io", "network.io.direction=transmit")
}

// bufferedMoves: the handler leaves what it gets unread.
func bufferedMoves(t *testing.T, backend string) {
	f := serve(t, backend, 1, funcs{data: func(*conn.Conn) error { return nil }}, func(cfg *conn.Config) { cfg.MaxMemory = 8 << 20 })
	c := f.dial()
	write(t, c, noise[:1000])
	conntest.Eventually(t, func() bool { return value(f.Group, "suiro.memory.buffered") >= 1000 })
	conntest.Eventually(t, func() bool { return value(f.Group, "suiro.memory.buffered") == float64(f.Buffered()) }) // once the run has ended
	require.NoError(t, c.Close())
	f.Abort()
	becomes(t, f.Group, 0, "suiro.memory.buffered")
}

// shedMoves: one connection alone fills the memory.
func shedMoves(t *testing.T, backend string) {
	closed, tell := ends(1)
	f := serve(t, backend, 1, funcs{close: tell, data: func(c *conn.Conn) error {
		_, _ = c.Next(-1)
		_, err := c.Write(make([]byte, 16<<20))
		return err
	}}, func(cfg *conn.Config) { cfg.MaxMemory = 1 << 20 })
	write(t, f.dial(), "more")
	require.ErrorIs(t, conntest.Receive(t, closed), conn.ErrShed)
	becomes(t, f.Group, 1, "suiro.shed_connections")
	becomes(t, f.Group, 1, "suiro.connection.duration", "error.type=shed")
}

func handshakesMove(t *testing.T, backend string) {
	server, client := tlsConfigs(t)
	f := newFixture(t, backend, 1, func(c *conn.Config) { c.LingerTimeout = 100 * time.Millisecond }) // alerts that nobody reads
	ln := conntest.Listen(t)
	f.addr = ln.Addr()
	l, err := f.Listen(ln, conn.ServeTLS(conn.TLSConfig{Config: server}, funcs{data: echo}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	silent := f.dial()
	becomes(t, f.Group, 1, "suiro.active_tls_handshakes")
	c := tls.Client(f.dial(), client)
	require.NoError(t, c.Handshake())
	becomes(t, f.Group, 1, "suiro.tls_handshake.duration", "error.type=")
	becomes(t, f.Group, 1, "suiro.active_tls_handshakes")

	for _, e := range []struct{ as, say string }{{"not_tls", "GET / HTTP/1.1\r\n\r\n"}, {"peer_closed", ""}} {
		c := f.dial()
		if e.say != "" {
			write(t, c, e.say)
			_, _ = io.Copy(io.Discard, c)
		}
		require.NoError(t, c.Close())
		becomes(t, f.Group, 1, "suiro.tls_handshake.duration", "error.type="+e.as)
	}
	wary := client.Clone()
	wary.RootCAs, wary.InsecureSkipVerify = nil, false
	wary.ServerName = "elsewhere.example"
	require.Error(t, tls.Client(f.dial(), wary).Handshake())
	becomes(t, f.Group, 1, "suiro.tls_handshake.duration", "error.type=alert")
	require.NoError(t, silent.Close())
	becomes(t, f.Group, 2, "suiro.tls_handshake.duration", "error.type=peer_closed")
	becomes(t, f.Group, 0, "suiro.active_tls_handshakes")
	becomes(t, f.Group, 5, "suiro.tls_handshake.duration")
}

func dialsMove(t *testing.T, backend string) {
	f := serve(t, backend, 1, funcs{data: echo})
	got := make(chan string, 1)
	h := funcs{
		open: func(c *conn.Conn) error { _, err := c.WriteString("hello"); return err },
		data: func(c *conn.Conn) error {
			p, err := c.Peek(5)
			if err != nil {
				return nil
			}
			got <- string(p)
			return c.Close()
		},
	}
	_, err := f.Dial(f.addr, h)
	require.NoError(t, err)
	require.Equal(t, "hello", conntest.Receive(t, got))
	becomes(t, f.Group, 1, "suiro.client.connection.duration", "error.type=")
	becomes(t, f.Group, 5, "suiro.client.network.io", "network.io.direction=receive")
	becomes(t, f.Group, 5, "suiro.client.network.io", "network.io.direction=transmit")
	becomes(t, f.Group, 0, "suiro.client.active_connections")

	nowhere := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0")) // nobody else gets its port
	_, err = f.Dial(nowhere.Addr(), funcs{})
	require.NoError(t, err)
	becomes(t, f.Group, 1, "suiro.client.connection.duration", "error.type=refused")
	_, err = f.Dial(f.addr, funcs{})
	require.NoError(t, err)
	becomes(t, f.Group, 1, "suiro.client.active_connections")
	require.EqualValues(t, 3, value(f.Group, "suiro.client.connections"))
	becomes(t, f.Group, 1, "suiro.active_connections")
}

func clientUnsentMoves(t *testing.T, backend string) {
	const much = 24 << 20
	ln := conntest.Listen(t)
	f := newFixture(t, backend, 1)
	_, err := f.Dial(ln.Addr(), funcs{open: func(c *conn.Conn) error {
		_, err := c.Write(make([]byte, much))
		return err
	}})
	require.NoError(t, err)
	c, err := ln.Accept()
	require.NoError(t, err)
	defer c.Close()
	conntest.Eventually(t, func() bool {
		left := value(f.Group, "suiro.client.network.unsent")
		return left > 0 && left+value(f.Group, "suiro.client.network.io", "network.io.direction=transmit") == much
	})
	read(t, c, much)
	becomes(t, f.Group, 0, "suiro.client.network.unsent")
}

func clientHandshakesMove(t *testing.T, backend string) {
	server, client := tlsConfigs(t)
	f := newFixture(t, backend, 1, func(c *conn.Config) { c.LingerTimeout = 100 * time.Millisecond })
	ln := conntest.Listen(t)
	_, err := f.Dial(ln.Addr(), conn.ConnectTLS(conn.TLSConfig{Config: client}, funcs{}))
	require.NoError(t, err)
	c, err := ln.Accept()
	require.NoError(t, err)
	defer c.Close()
	becomes(t, f.Group, 1, "suiro.client.active_tls_handshakes")
	go func() { _ = tls.Server(c, server).Handshake() }()
	becomes(t, f.Group, 1, "suiro.client.tls_handshake.duration", "error.type=")
	becomes(t, f.Group, 0, "suiro.client.active_tls_handshakes")
	wary := client.Clone()
	wary.RootCAs, wary.InsecureSkipVerify = nil, false
	wary.ServerName = "elsewhere.example"
	_, err = f.Dial(ln.Addr(), conn.ConnectTLS(conn.TLSConfig{Config: wary}, funcs{}))
	require.NoError(t, err)
	d, err := ln.Accept()
	require.NoError(t, err)
	defer d.Close()
	go func() { _ = tls.Server(d, server).Handshake() }()
	becomes(t, f.Group, 1, "suiro.client.tls_handshake.duration", "error.type=certificate")
}

// echoPackets answers each datagram.
type echoPackets struct{ packet.Base }

func (echoPackets) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

func udpSocket(t *testing.T) *net.UDPConn {
	pc, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	require.NoError(t, pc.SetDeadline(time.Now().Add(conntest.Patience)))
	return pc
}

func datagramsMove(t *testing.T, backend string) {
	f := newFixture(t, backend, 1)
	pc := udpSocket(t)
	at := []string{"network.transport=udp", "server.port=" + portOf(pc)}
	h, err := packet.Listen(f, pc, echoPackets{})
	require.NoError(t, err)
	client := udpSocket(t)
	for _, text := range []string{"a", "bcd", "efghi"} {
		_, err = client.WriteTo([]byte(text), pc.LocalAddr())
		require.NoError(t, err)
		_, _, err = client.ReadFrom(make([]byte, 10))
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, value(f.Group, "suiro.active_packet_sockets", at...))
	for _, d := range []string{"receive", "transmit"} {
		becomes(t, f.Group, 3, "suiro.datagrams", append(at, "network.io.direction="+d)...)
		becomes(t, f.Group, 9, "suiro.datagram.io", append(at, "network.io.direction="+d)...)
	}
	require.NoError(t, h.Close())
	becomes(t, f.Group, 0, "suiro.active_packet_sockets")

	s, err := packet.ListenSocket(f, udpSocket(t)) // for goroutines
	require.NoError(t, err)
	_, err = client.WriteTo([]byte("jk"), s.LocalAddr())
	require.NoError(t, err)
	n, from, err := s.ReadFrom(make([]byte, 10))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = s.WriteTo([]byte("lmno"), from)
	require.NoError(t, err)
	require.EqualValues(t, 4, value(f.Group, "suiro.datagrams", "network.io.direction=receive"))
	require.EqualValues(t, 11, value(f.Group, "suiro.datagram.io", "network.io.direction=receive"))
	require.EqualValues(t, 13, value(f.Group, "suiro.datagram.io", "network.io.direction=transmit"))
	require.NoError(t, s.Close())
	becomes(t, f.Group, 0, "suiro.active_packet_sockets")
}

// flooding writes until the queue is full, and then once more.
type flooding struct {
	packet.Base
	refused chan int
}

func (h flooding) OnOpen(c *packet.Conn) error {
	n := 0
	for n < 2 {
		if c.WriteTo(make([]byte, 1000), netip.MustParseAddrPort("127.0.0.1:9")) == packet.ErrWriteQueueFull {
			n++
		}
	}
	h.refused <- n
	return nil
}

func (flooding) OnPackets(*packet.Conn, []packet.Packet) error { return nil }

func (flooding) OnError(*packet.Conn, error) error { return nil }

func droppedMove(t *testing.T, backend string) {
	f := newFixture(t, backend, 1)
	h := flooding{refused: make(chan int, 1)}
	handle, err := packet.Listen(f, udpSocket(t), h)
	require.NoError(t, err)
	require.Equal(t, 2, conntest.Receive(t, h.refused))
	require.EqualValues(t, 2, value(f.Group, "suiro.dropped_datagrams", "error.type=queue_full"))
	require.NoError(t, handle.Close())
}

// kernelFiguresMove: what the kernel does only in want of memory is done here instead.
func kernelFiguresMove(t *testing.T, backend string) {
	f := newFixture(t, backend, 1)
	require.NoError(t, f.Runtime().Start())
	conn.PretendKernelTrouble(f.Group, 2, 3, 4, 5)
	require.EqualValues(t, 2, value(f.Group, "suiro.reactor.buffer_exhaustions"))
	require.EqualValues(t, 3, value(f.Group, "suiro.io_uring.overflows"))
	require.EqualValues(t, 4, value(f.Group, "suiro.io_uring.shortages"))
	require.EqualValues(t, 5, value(f.Group, "suiro.io_uring.dropped_completions"))
}
