package reactortest

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var datagramErrors = []behavior{
	{"a datagram that is too long fails alone", testPacketTooLong},
	{"what cannot be sent is refused when it is added", testPacketAddRefused},
	{"a refusal by the peer is an error, and the socket lives", testPacketRefused},
	{"a receive of datagrams can be canceled", testPacketCancel},
	{"a batch for which there is no room waits, and all of it arrives", testPacketsWait},
	{"a batch that waits can be canceled", testPacketsWaitCancel},
	{"a reactor closes with datagrams under way", testPacketClose},
}

func testPacketTooLong(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, _ := l.packetEnd("udp6")
	neverFragment(t, e.fd)
	peer, to := packetPeer(t, "udp6")
	long := string(text(1, 65520)) // fits a packet, but the loopback interface only in fragments
	for range 3 {
		e.failed = nil
		e.sendTo(add(t, &reactor.Batch{Wide: true}, to, long, "before", long, "after", long))
		l.until("sent", func() bool { return !e.inFlight() })
		require.Equal(t, []reactor.Failure{{Index: 0, Errno: syscall.EMSGSIZE}, {Index: 2, Errno: syscall.EMSGSIZE}, {Index: 4, Errno: syscall.EMSGSIZE}}, e.failed)
		for _, want := range []string{"before", "after"} {
			got, _ := readFrom(t, peer)
			require.Equal(t, want, got)
		}
	}
	l.idle()
}

func testPacketAddRefused(t *testing.T, _ Backend) {
	four, six := netip.MustParseAddrPort("127.0.0.1:9"), netip.MustParseAddrPort("[::1]:9")
	batch := &reactor.Batch{}
	require.ErrorIs(t, batch.Add(nil, six), syscall.EAFNOSUPPORT)
	require.ErrorIs(t, batch.Add(make([]byte, 65508), four), syscall.EMSGSIZE)
	require.ErrorIs(t, batch.AddSegments(make([]byte, 99), 0, four), syscall.EINVAL)
	require.ErrorIs(t, batch.AddSegments(make([]byte, 99), 65508, four), syscall.EMSGSIZE)
	wide := &reactor.Batch{Wide: true}
	require.ErrorIs(t, wide.Add(make([]byte, 65528), six), syscall.EMSGSIZE)
	require.ErrorIs(t, wide.Add(nil, netip.MustParseAddrPort("[fe80::1%nosuchzone]:9")), syscall.ENODEV)
	require.Zero(t, batch.Len()+wide.Len()+batch.Size()+wide.Size())
}

func testPacketRefused(t *testing.T, b Backend) {
	if why := forgetsErrors(); why != "" {
		t.Skip(why)
	}
	l := newLoop(t, b, small)
	e, addr := l.packetEnd("udp4")
	peer, to := packetPeer(t, "udp4")
	connectPacket(t, e.fd, to)
	require.NoError(t, peer.Close())
	for i := range 3 {
		if !e.flying[reactor.RecvFrom] {
			e.recvFrom()
		}
		l.settle()
		e.sendTo(add(t, &reactor.Batch{}, netip.AddrPort{}, "anybody there?"))
		l.until("the refusal", func() bool { return len(e.ends[reactor.RecvFrom]) == i+1 && !e.flying[reactor.SendTo] })
		require.Equal(t, syscall.ECONNREFUSED, e.errno(reactor.RecvFrom))
	}
	peer, err := listenPacket("udp4", to)
	require.NoError(t, err)
	defer func() { _ = peer.Close() }()
	e.recvFrom()
	writeTo(t, peer, []byte("now there is"), addr)
	l.until("a datagram", func() bool { return len(e.packets) == 1 })
	e.sendTo(add(t, &reactor.Batch{}, netip.AddrPort{}, "good"))
	l.until("sent", func() bool { return !e.flying[reactor.SendTo] })
	got, _ := readFrom(t, peer)
	require.Equal(t, "good", got)
	l.idle()
}

func testPacketCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd("udp4")
	peer, _ := packetPeer(t, "udp4")
	for i := range 5 {
		e.recvFrom()
		writeTo(t, peer, []byte("x"), to)
		l.until("a datagram", func() bool { return len(e.packets) == i+1 })
		e.stop(reactor.RecvFrom)
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.RecvFrom))
	}
	writeTo(t, peer, []byte("x"), to)
	l.settle()
	require.Len(t, e.packets, 5, "nothing is received without an operation")
	e.close()
}

// full returns a datagram socket whose peer's queue takes only a few datagrams.
func (l *loop) full(n int) (e *endpoint, peer int, batch *reactor.Batch) {
	l.t.Helper()
	if !sendersWait {
		l.t.Skip("no datagram socket makes its sender wait here")
	}
	fd, peer := packetPair(l.t)
	e, batch = l.add(fd), &reactor.Batch{}
	for i := range n {
		add(l.t, batch, netip.AddrPort{}, fmt.Sprint("datagram ", i))
	}
	return e, peer, batch
}

func testPacketsWait(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 8, Buffers: 4, BufferSize: 16 << 10})
	const n = 200
	e, peer, batch := l.full(n)
	e.sendTo(batch)
	l.settle()
	require.True(t, e.flying[reactor.SendTo])
	got := map[string]bool{}
	p := make([]byte, 100)
	for end := deadline(); len(got) < n; l.poll(0, false) { // never waits: this loop makes the room
		require.True(t, time.Now().Before(end), "%d of %d\n%s", len(got), n, l.dump())
		for {
			m, ok := readPacket(peer, p)
			if !ok {
				break
			}
			require.False(t, got[string(p[:m])])
			got[string(p[:m])] = true
		}
	}
	l.until("the end", func() bool { return !e.inFlight() })
	require.Empty(t, e.failed)
	e.close()
}

func testPacketsWaitCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	const n = 50
	e, peer, batch := l.full(n)
	e.sendTo(batch)
	l.settle()
	e.stop(reactor.SendTo)
	sent := 0
	for p := make([]byte, 100); ; sent++ {
		if _, ok := readPacket(peer, p); !ok {
			break
		}
	}
	require.Len(t, e.failed, n-sent)
	require.NotEmpty(t, e.failed)
	require.NotZero(t, sent)
	for _, f := range e.failed {
		require.Equal(t, syscall.ECANCELED, f.Errno)
	}
	e.close()
	l.settle()
}

func testPacketClose(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd("udp4")
	e.recvFrom()
	if sendersWait {
		waits, _, batch := l.full(50)
		waits.sendTo(batch)
	}
	peer, _ := packetPeer(t, "udp4")
	for range 50 {
		writeTo(t, peer, []byte("x"), to)
	}
	l.poll(0, false)
	l.close()
	err := l.r.Submit(&reactor.Op{Kind: reactor.RecvFrom, FD: 0})
	require.ErrorIs(t, err, reactor.ErrClosed)
}
