package packet_test

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
)

// funcs is a handler made of functions. A function that is nil does the same as packet.Base.
type funcs struct {
	open    func(*packet.Conn) error
	packets func(*packet.Conn, []packet.Packet) error
	fail    func(*packet.Conn, error) error
	timer   func(*packet.Conn) error
	drain   func(*packet.Conn)
	close   func(*packet.Conn, error)

	lives *audit
}

// An audit checks the calls of handlers: one method at a time, OnOpen first, OnClose last and once.
type audit struct {
	mu    sync.Mutex
	lives map[*packet.Conn]*life
	bad   []string
}

func (a *audit) call(c *packet.Conn, method string) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lives == nil {
		a.lives = map[*packet.Conn]*life{}
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

func (a *audit) check(t *testing.T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.bad)
	for _, l := range a.lives {
		require.EqualValues(t, 1, l.closes.Load(), "OnClose")
		require.LessOrEqual(t, l.opens.Load(), int32(1), "OnOpen")
	}
}

func (h *funcs) OnOpen(c *packet.Conn) error {
	defer h.lives.call(c, "OnOpen")()
	if h.open != nil {
		return h.open(c)
	}
	return nil
}

func (h *funcs) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	defer h.lives.call(c, "OnPackets")()
	if h.packets != nil {
		return h.packets(c, batch)
	}
	return nil
}

func (h *funcs) OnError(c *packet.Conn, err error) error {
	defer h.lives.call(c, "OnError")()
	if h.fail != nil {
		return h.fail(c, err)
	}
	return nil
}

func (h *funcs) OnTimer(c *packet.Conn) error {
	defer h.lives.call(c, "OnTimer")()
	if h.timer != nil {
		return h.timer(c)
	}
	return nil
}

func (h *funcs) OnDrain(c *packet.Conn) {
	defer h.lives.call(c, "OnDrain")()
	if h.drain != nil {
		h.drain(c)
		return
	}
	packet.Base{}.OnDrain(c)
}

func (h *funcs) OnClose(c *packet.Conn, err error) {
	defer h.lives.call(c, "OnClose")()
	if h.close != nil {
		h.close(c, err)
	}
}

// packetFixture is a group with an audit of its packet handlers.
func packetFixture(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) (*fixture, *audit) {
	t.Helper()
	lives := &audit{}
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
func servePackets(t *testing.T, f *fixture, h packet.Handler) (packet.Handle, netip.AddrPort) {
	t.Helper()
	return servePacketsOn(t, f, "udp4", "127.0.0.1:0", h)
}

func servePacketsOn(t *testing.T, f *fixture, network, addr string, h packet.Handler) (packet.Handle, netip.AddrPort) {
	t.Helper()
	pc := listenUDP(t, network, addr)
	_ = pc.SetReadBuffer(4 << 20)
	at := pc.LocalAddr().(*net.UDPAddr).AddrPort()
	handle, err := packet.Listen(f, pc, h)
	require.NoError(t, err)
	require.NoError(t, pc.Close())
	return handle, at
}

func echoPackets(c *packet.Conn, batch []packet.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

// udpClient is a socket of package net. Its deadline ends a test that hangs.
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

// mapped is an address as net.UDPAddr.AddrPort mostly returns it: one of IPv4 is mapped into IPv6.
func mapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
}
