package reactortest

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var packetNetworks = []string{"udp4", "udp6"}

func onPacketNetworks(name string, test func(t *testing.T, b Backend, network string)) behavior {
	return behavior{name, func(t *testing.T, b Backend) {
		for _, network := range packetNetworks {
			t.Run(network, func(t *testing.T) { test(t, b, network) })
		}
	}}
}

var datagrams = []behavior{
	onPacketNetworks("receives datagrams with their boundaries and senders", testPacketsReceived),
	onPacketNetworks("receives what was there before the operation, all of it", testPacketsBefore),
	onPacketNetworks("sends a batch to several destinations", testPacketsSent),
	onPacketNetworks("datagrams of every size, none included, come and go whole", testPacketSizes),
	onPacketNetworks("tells which address a datagram was sent to", testPacketInfo),
	onPacketNetworks("sends and receives segments", testPacketSegments),
	{"segments become datagrams where the kernel makes none of them", testPacketNoSegments},
	{"datagrams that are joined arrive as single ones", testPacketsJoined},
	{"an IPv6 socket serves IPv4 as well", testPacketDualStack},
	{"a connected socket sends to its peer", testPacketConnected},
	{"a rescuer receives datagrams", testPacketsRescued},
}

func testPacketsReceived(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd(network)
	e.recvFrom()
	one, fromOne := packetPeer(t, network)
	two, fromTwo := packetPeer(t, network)
	for i := range 100 {
		writeTo(t, one, fmt.Appendf(nil, "%d from one", i), to)
		writeTo(t, two, fmt.Appendf(nil, "%d from two", i), to)
		l.until("both", func() bool { return len(e.packets) == 2*i+2 })
	}
	for i, p := range e.packets {
		name, from := "one", fromOne
		if i%2 == 1 {
			name, from = "two", fromTwo
		}
		require.Equal(t, fmt.Sprintf("%d from %s", i/2, name), p.was)
		require.Equal(t, from, p.From)
		require.False(t, p.Truncated)
		require.Zero(t, p.Segment)
		require.False(t, p.To.IsValid(), "nobody asked for it")
	}
	l.idle()
}

func testPacketsBefore(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd(network)
	l.settle()
	peer, _ := packetPeer(t, network)
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprint("datagram ", i))
		writeTo(t, peer, []byte(want[i]), to)
	}
	e.recvFrom()
	l.out = make([]reactor.Completion, 7)
	l.until("all", func() bool { return len(e.packets) == len(want) })
	require.Equal(t, want, e.texts())
	l.idle()
}

func testPacketsSent(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, reactor.Config{Entries: 16, Buffers: 4, BufferSize: 16 << 10})
	e, from := l.packetEnd(network)
	one, toOne := packetPeer(t, network)
	two, toTwo := packetPeer(t, network)
	batch := &reactor.Batch{Wide: network == "udp6"}
	for range 3 { // the batch and its memory are used again
		batch.Reset()
		for i := range 50 { // more than fit the queue
			add(t, batch, toOne, fmt.Sprint("one ", i))
			add(t, batch, toTwo, fmt.Sprint("two ", i))
		}
		e.sendTo(batch)
		l.until("sent", func() bool { return !e.inFlight() })
		require.Empty(t, e.failed)
		for i := range 50 {
			text, addr := readFrom(t, one)
			require.Equal(t, fmt.Sprint("one ", i), text)
			require.Equal(t, from, addr)
			text, addr = readFrom(t, two)
			require.Equal(t, fmt.Sprint("two ", i), text)
			require.Equal(t, from, addr)
		}
	}
	l.idle()
}

func testPacketSizes(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd(network)
	e.recvFrom()
	peer, from := packetPeer(t, network)
	sizes := []int{0, 1, 0, 0, 63, 64, 1472, 1473, 9000, 0, 65000}
	if network == "udp4" {
		sizes = append(sizes, 65507)
	}
	for i, n := range sizes {
		p := text(uint64(i), n)
		writeTo(t, peer, p, to)
		l.until("a datagram", func() bool { return len(e.packets) == i+1 })
		requireSame(t, p, []byte(e.packets[i].was))
		e.sendTo(add(t, &reactor.Batch{Wide: network == "udp6"}, from, string(p)))
		l.until("sent", func() bool { return !e.flying[reactor.SendTo] })
		got, _ := readFrom(t, peer)
		requireSame(t, p, []byte(got))
	}
	require.Empty(t, e.failed)
	l.idle()
}

func testPacketInfo(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd(network)
	wantPacketInfo(t, e.fd, network)
	e.recvFrom()
	peer, _ := packetPeer(t, network)
	writeTo(t, peer, []byte("hello"), to)
	l.until("a datagram", func() bool { return len(e.packets) == 1 })
	require.Equal(t, to.Addr(), e.packets[0].To)
	require.NotZero(t, e.packets[0].Interface)
}

// Datagrams sent as segments are received as single datagrams, or as one piece with Packet.Segment
// set.
func testPacketSegments(t *testing.T, b Backend, network string) {
	for _, whole := range []bool{false, true} {
		l := newLoop(t, b, reactor.Config{Entries: 64, Buffers: 4, BufferSize: 16 << 10})
		from, _ := l.packetEnd(network)
		e, to := l.packetEnd(network)
		if whole {
			wantWholeSegments(t, e.fd)
		}
		e.recvFrom()
		data := text(5, 100*500+7)
		batch := &reactor.Batch{Wide: network == "udp6"}
		require.NoError(t, batch.AddSegments(data, 500, to))
		if segments {
			require.Less(t, batch.Len(), 10, "many in one")
		}
		from.sendTo(batch)
		var got []byte
		pieces := 0
		l.until("all segments", func() bool {
			got, pieces = nil, len(e.packets)
			for _, p := range e.packets {
				got = append(got, p.was...)
			}
			return len(got) >= len(data)
		})
		requireSame(t, data, got)
		require.Empty(t, from.failed)
		if !whole {
			require.Equal(t, 101, pieces)
		} else {
			require.Equal(t, batch.Len(), pieces)
			require.Equal(t, 500, e.packets[0].Segment)
		}
		l.until("the end of the send", func() bool { return !from.inFlight() })
		l.close()
	}
}

func testPacketNoSegments(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, _ := l.packetEnd("udp4")
	peer, to := packetPeer(t, "udp4")
	batch := &reactor.Batch{NoSegments: true}
	require.NoError(t, batch.AddSegments([]byte("aaabbbc"), 3, to))
	require.Equal(t, 3, batch.Len())
	e.sendTo(batch)
	l.until("sent", func() bool { return !e.inFlight() })
	for _, want := range []string{"aaa", "bbb", "c"} {
		got, _ := readFrom(t, peer)
		require.Equal(t, want, got)
	}
}

func testPacketDualStack(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, addr := l.packetEnd("udp")
	e.recvFrom()
	peer, from := packetPeer(t, "udp4")
	writeTo(t, peer, []byte("ping"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), addr.Port()))
	l.until("a datagram", func() bool { return len(e.packets) == 1 })
	require.Equal(t, from, e.packets[0].From, "as an IPv4 address")
	e.sendTo(add(t, &reactor.Batch{Wide: true}, e.packets[0].From, "pong"))
	l.until("sent", func() bool { return !e.flying[reactor.SendTo] })
	got, _ := readFrom(t, peer)
	require.Equal(t, "pong", got)
}

func testPacketConnected(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, addr := l.packetEnd("udp4")
	peer, to := packetPeer(t, "udp4")
	connectPacket(t, e.fd, to)
	e.recvFrom()
	e.sendTo(add(t, &reactor.Batch{}, netip.AddrPort{}, "a", "", "c"))
	for _, want := range []string{"a", "", "c"} {
		l.until("sent", func() bool { return !e.flying[reactor.SendTo] })
		got, from := readFrom(t, peer)
		require.Equal(t, want, got)
		require.Equal(t, addr, from)
	}
	other, _ := packetPeer(t, "udp4")
	writeTo(t, other, []byte("from elsewhere"), addr)
	writeTo(t, peer, []byte("answer"), addr)
	l.until("the answer", func() bool { return len(e.packets) == 1 })
	require.Equal(t, "answer", e.packets[0].was)
	require.Equal(t, to, e.packets[0].From)
}

func testPacketsRescued(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, to := l.packetEnd("udp4")
	e.recvFrom()
	peer, _ := packetPeer(t, "udp4")
	l.settle()
	for i := range 20 {
		l.flush() // so that operations that ended are armed again
		writeTo(t, peer, fmt.Appendf(nil, "%d", i), to)
		l.rescueUntil("a datagram", func(*atomic.Bool) {}, func() bool { return len(e.packets) == i+1 })
		require.Equal(t, fmt.Sprint(i), e.packets[i].was)
	}
}

func testPacketsJoined(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, _ := l.packetEnd("udp4")
	one, toOne := packetPeer(t, "udp4")
	two, toTwo := packetPeer(t, "udp4")
	batch := &reactor.Batch{Join: true}
	var want []string
	// Nothing is received before all is sent, so all must fit the receive buffer that a system
	// grants by default, 416 KiB. A datagram of 100 bytes takes 0.9 KiB of it on amd64, and more
	// where cache lines are longer, as on s390x.
	const n = 180
	for i := range n {
		size := 100
		switch {
		case i%50 == 7:
			size = 99 // ends a run
		case i%50 == 8:
			size = 101 // begins one
		case i%50 == 20:
			size = 0 // is always alone
		case i > n-10:
			size = 1500 // too long to be joined
		}
		want = append(want, string(text(uint64(i), size)))
		add(t, batch, toOne, want[i])
		if i == n/2 {
			add(t, batch, toTwo, "to another")
		}
	}
	if segments {
		require.Less(t, batch.Len(), n/5)
		require.Greater(t, batch.Len(), n/64)
		require.Positive(t, batch.Segment(0))
	}
	e.sendTo(batch)
	l.until("sent", func() bool { return !e.inFlight() })
	require.Empty(t, e.failed)
	for _, w := range want {
		got, _ := readFrom(t, one)
		require.Equal(t, w, got)
	}
	got, _ := readFrom(t, two)
	require.Equal(t, "to another", got)
}
