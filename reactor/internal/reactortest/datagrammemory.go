package reactortest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var datagramMemory = []behavior{
	{"a datagram longer than its buffer is cut off and says so", testPacketTruncated},
	{"receiving datagrams goes on when buffers come back", testPacketStarve},
	{"a receive of datagrams that waits for a buffer can be canceled", testPacketStarveCancel},
	{"datagrams and a stream leave each other's buffers alone", testPacketsBesideStream},
	{"releasing a datagram twice panics", testPacketReleaseTwice},
}

func testPacketTruncated(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 64, Buffers: 4, BufferSize: 4096, DatagramSize: 100})
	e, to := l.packetEnd("udp4")
	e.recvFrom()
	peer, _ := packetPeer(t, "udp4")
	for i, n := range []int{99, 100, 101, 1000, 65000, 100} {
		p := text(uint64(i), n)
		writeTo(t, peer, p, to)
		l.until("a datagram", func() bool { return len(e.packets) == i+1 })
		requireSame(t, p[:min(n, 100)], []byte(e.packets[i].was))
		require.Equal(t, n > 100, e.packets[i].Truncated, n)
	}
}

// starvedOfPackets returns an endpoint that keeps all buffers, with more datagrams to arrive.
func starvedOfPackets(t *testing.T, b Backend, n int) (l *loop, e *endpoint) {
	t.Helper()
	l = newLoop(t, b, reactor.Config{Entries: 64, Buffers: 4, BufferSize: 4096, Datagrams: 8, DatagramSize: 200})
	e, to := l.packetEnd("udp4")
	e.keep = true
	e.recvFrom()
	peer, _ := packetPeer(t, "udp4")
	for i := range n {
		writeTo(t, peer, fmt.Appendf(nil, "datagram %d", i), to)
	}
	for before := -1; before != len(e.packets); {
		before = len(e.packets)
		l.settle()
	}
	require.Len(t, e.packets, 8, "all buffers are in use")
	return l, e
}

func testPacketStarve(t *testing.T, b Backend) {
	const n = 100
	l, e := starvedOfPackets(t, b, n)
	for range 5 {
		l.idle()
	}
	released := 0
	for released < n {
		e.releasePackets(released, released+1)
		released++
		l.until("the next", func() bool { return len(e.packets) == min(n, released+8) })
	}
	for i, text := range e.texts() {
		require.Equal(t, fmt.Sprint("datagram ", i), text)
	}
	l.idle()
}

func testPacketStarveCancel(t *testing.T, b Backend) {
	l, e := starvedOfPackets(t, b, 20)
	e.stop(reactor.RecvFrom)
	require.Equal(t, syscall.ECANCELED, e.errno(reactor.RecvFrom))
	e.releasePackets(0, 8)
	l.settle()
	require.Len(t, e.packets, 8)
	e.recvFrom()
	l.until("the next", func() bool { return len(e.packets) == 16 })
	e.releasePackets(8, 16)
	l.until("the rest", func() bool { return len(e.packets) == 20 })
	e.releasePackets(16, 20)
}

func testPacketsBesideStream(t *testing.T, b Backend) {
	l, e := starvedOfPackets(t, b, 10)
	stream, peer := l.pair("tcp")
	stream.recv()
	write(t, peer, "through")
	l.until("bytes", func() bool { return string(stream.data) == "through" })
	stream.keep = true
	write(t, peer, string(text(3, 20<<10))) // more than there are buffers
	l.drain([]*endpoint{stream})
	e.releasePackets(0, 8)
	l.until("the rest", func() bool { return len(e.packets) == 10 })
	e.releasePackets(8, 10)
	stream.release(len(stream.kept))
	l.until("all bytes", func() bool { stream.release(len(stream.kept)); return len(stream.data) == 7+20<<10 })
	requireSame(t, text(3, 20<<10), stream.data[7:])
}

func testPacketReleaseTwice(t *testing.T, b Backend) {
	l, e := starvedOfPackets(t, b, 8)
	e.stop(reactor.RecvFrom)
	e.releasePackets(0, 1)
	require.Panics(t, func() { l.r.Release(e.packets[0].buf) })
	e.releasePackets(1, 8)
}
