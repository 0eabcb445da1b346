package interop

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// The ECN bits of a datagram (RFC 3168).
const (
	notECT = 0
	ect0   = 2
	ce     = 3
)

// A relayWay is one direction of a relay.
type relayWay struct {
	pass  pass
	lost  atomic.Int64
	marks [4]atomic.Int64 // how many datagrams arrived with each mark
}

// A pass says for datagram i of a direction, which arrived with a mark, which mark it gets. Not ok:
// it is lost.
type pass func(i int, mark byte) (as byte, ok bool)

// A relay stands between a client and a server, on sockets of package net.
type relay struct {
	near     *net.UDPConn // the client sends to it
	far      *net.UDPConn // connected to the server
	client   atomic.Pointer[netip.AddrPort]
	up, down relayWay
}

func newRelay(t *testing.T, to net.Addr, up, down pass) *relay {
	near, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	far, err := net.DialUDP("udp4", nil, to.(*net.UDPAddr))
	require.NoError(t, err)
	r := &relay{near: near, far: far}
	r.up.pass, r.down.pass = up, down
	for _, c := range []*net.UDPConn{near, far} {
		raw, err := c.SyscallConn()
		require.NoError(t, err)
		var failed error
		require.NoError(t, raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_RECVTOS, 1)
		}))
		require.NoError(t, failed)
	}
	var running sync.WaitGroup
	running.Go(func() {
		r.up.run(near, func(from netip.AddrPort) { r.client.Store(&from) }, func(p, oob []byte) {
			_, _, _ = far.WriteMsgUDP(p, oob, nil) // the server may have gone
		})
	})
	running.Go(func() {
		r.down.run(far, func(netip.AddrPort) {}, func(p, oob []byte) {
			_, _, _ = near.WriteMsgUDPAddrPort(p, oob, *r.client.Load())
		})
	})
	t.Cleanup(func() {
		_ = near.Close()
		_ = far.Close()
		running.Wait()
	})
	return r
}

func (w *relayWay) run(from *net.UDPConn, sender func(netip.AddrPort), send func(p, oob []byte)) {
	p, oob := make([]byte, 2048), make([]byte, 64)
	for i := 0; ; i++ {
		n, controlled, _, addr, err := from.ReadMsgUDPAddrPort(p, oob)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // refused: the server has gone
		}
		sender(addr)
		mark := markOf(oob[:controlled])
		w.marks[mark].Add(1)
		as, ok := w.pass(i, mark)
		if !ok {
			w.lost.Add(1)
			continue
		}
		send(p[:n], marked(as))
	}
}

// markOf is the mark in control messages.
func markOf(oob []byte) byte {
	all, _ := syscall.ParseSocketControlMessage(oob)
	for _, m := range all {
		if m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_TOS {
			return m.Data[0] & 3
		}
	}
	return notECT
}

// marked is a control message that sets the mark of a datagram.
func marked(mark byte) []byte {
	oob := make([]byte, syscall.CmsgSpace(1))
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&oob[0]))
	h.Level, h.Type = syscall.IPPROTO_IP, syscall.IP_TOS
	h.SetLen(syscall.CmsgLen(1))
	oob[syscall.CmsgLen(0)] = mark
	return oob
}

// exchangeThrough sends data both ways through a relay, in eight streams of one connection.
func exchangeThrough(t *testing.T, open packets, each int, up, down pass) *relay {
	answer := noise(each)
	p := newQUICPair(t, open, func(s *quic.Stream) {
		h := sha256.New()
		_, _ = io.Copy(h, s) // the sum is wrong after an error
		_, _ = s.Write(append(h.Sum(nil), answer...))
		_ = s.Close()
	})
	defer p.close()
	p.cfg.HandshakeIdleTimeout, p.cfg.MaxIdleTimeout = conntest.Patience, conntest.Patience
	r := newRelay(t, p.to.Conn.LocalAddr(), up, down)
	ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
	defer cancel()
	c, err := p.from.Dial(ctx, r.near.LocalAddr(), p.client, p.cfg)
	require.NoError(t, err)
	defer func() { _ = c.CloseWithError(0, "") }()
	conntest.Each(t, 8, func(i int) error {
		request := noise(each + i)[i:]
		sum := sha256.Sum256(request)
		return ask(ctx, c, request, append(sum[:], answer...))
	})
	return r
}

// One in twenty datagrams is lost, both ways: 1 MiB arrives each way all the same.
func TestQUICWithLoss(t *testing.T) {
	overSockets(t, func(t *testing.T, open packets) {
		lossy := func(seed uint64) pass {
			r := rand.New(rand.NewPCG(25, seed))
			return func(_ int, mark byte) (byte, bool) { return mark, r.Float64() >= 0.05 }
		}
		r := exchangeThrough(t, open, 128<<10, lossy(1), lossy(2))
		require.Greater(t, r.up.lost.Load(), int64(20), "of about 1,000")
		require.Greater(t, r.down.lost.Load(), int64(20))
	})
}

// quic-go marks its first ten packets. It marks later ones only after acknowledgements that count
// each of its marks. So the peer's socket must report them.
func TestQUICUsesECN(t *testing.T) {
	for name, c := range map[string]struct {
		pass pass
		uses bool
	}{
		"marks":    {func(_ int, mark byte) (byte, bool) { return mark, true }, true},
		"no marks": {func(int, byte) (byte, bool) { return notECT, true }, false},
		"congestion": {func(i int, mark byte) (byte, bool) {
			if mark == ect0 && i%20 == 19 {
				mark = ce
			}
			return mark, true
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			overSockets(t, func(t *testing.T, open packets) {
				r := exchangeThrough(t, open, 64<<10, c.pass, c.pass)
				for _, w := range []*relayWay{&r.up, &r.down} {
					n := w.marks[ect0].Load()
					if c.uses {
						require.Greater(t, n, int64(100))
					} else {
						require.Positive(t, n)
						require.LessOrEqual(t, n, int64(10))
					}
				}
			})
		})
	}
}
