package reactortest

import (
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var sending = []behavior{
	onNetworks("sends", testSendSmall),
	onNetworks("sends more than the socket takes, in parts", testSendParts),
	{"sends and receives at once", testSendBothWays},
	{"a send to a closed peer is an error and no signal", testSendClosed},
	{"a send with NoWait to a full socket is sent in the end", testSendNoWait},
	{"a send that waits leaves Poll to wait as well", testSendIdle},
	{"a send that waits ends when the peer resets", testSendReset},
}

func testSendSmall(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	for i := range 20 {
		p := text(uint64(i), 1+100*i)
		before := e.sent
		e.send(p)
		l.until("sent", func() bool { return !e.flying[reactor.Send] })
		require.Equal(t, len(p), e.sent-before)
		read(t, peer, string(p))
	}
	l.settle()
	require.Len(t, e.ends[reactor.Send], 20+e.shorts)
}

// clogged is a connection with a send that waits for room.
func clogged(t *testing.T, b Backend, network string) (l *loop, e *endpoint, peer net.Conn, want []byte) {
	t.Helper()
	l = newLoop(t, b, small)
	e, peer = l.pair(network)
	shrink(t, e.fd)
	want = text(2, 2<<20)
	e.send(want)
	l.settle()
	require.True(t, e.flying[reactor.Send], "the rest waits: nobody has read a byte")
	return l, e, peer, want
}

func testSendParts(t *testing.T, b Backend, network string) {
	l, e, peer, want := clogged(t, b, network)
	require.Positive(t, e.sent)
	require.Positive(t, e.shorts)
	l.idle()

	got := make([]byte, len(want))
	taken := inBackground(func() error { _, err := io.ReadFull(peer, got); return err })
	l.until("all sent", func() bool { return e.sent == len(want) })
	require.NoError(t, <-taken)
	requireSame(t, want, got)
	l.settle()
	require.False(t, e.flying[reactor.Send])
}

func testSendBothWays(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	there, back := text(3, 1<<20), text(4, 1<<20)
	e.recv()
	e.send(there)
	got := make([]byte, len(there))
	written := inBackground(func() error { _, err := peer.Write(back); return err })
	taken := inBackground(func() error { _, err := io.ReadFull(peer, got); return err })
	l.until("both streams", func() bool { return e.sent == len(there) && len(e.data) == len(back) })
	require.NoError(t, <-written)
	require.NoError(t, <-taken)
	requireSame(t, there, got)
	requireSame(t, back, e.data)
}

func testSendClosed(t *testing.T, b Backend) {
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, syscall.Signal(13)) // SIGPIPE, where there is one
	defer signal.Stop(signals)
	l := newLoop(t, b, small)
	if why := forgetsErrors(); why != "" && l.faulty {
		t.Skip("it may be told to a call that a plan has fail: ", why)
	}
	here := slices.DeleteFunc(slices.Clone(networks), func(network string) bool { return lacksNetwork(network) != "" })
	for i := range 10 {
		e, peer := l.pair(here[i%len(here)])
		require.NoError(t, peer.Close())
		l.until("a send to fail", func() bool {
			if !e.flying[reactor.Send] && e.errno(reactor.Send) == 0 {
				e.send([]byte("anybody there?"))
			}
			return e.errno(reactor.Send) != 0
		})
		require.Contains(t, []syscall.Errno{syscall.EPIPE, syscall.ECONNRESET}, e.errno(reactor.Send))
		l.settle()
		e.close()
	}
	require.Empty(t, signals)
}

// Without room a send with NoWait ends with EAGAIN, and the endpoint submits an ordinary send. Or
// it waits like an ordinary send.
func testSendNoWait(t *testing.T, b Backend) {
	l, e, peer, want := clogged(t, b, "tcp")
	e.stop(reactor.Send)
	e.unsent = want[e.sent:]
	e.start(reactor.Op{Kind: reactor.Send, Buf: e.unsent, NoWait: true})
	l.settle()
	require.True(t, e.flying[reactor.Send], "nobody has read a byte")
	l.idle()
	got := make([]byte, len(want))
	taken := inBackground(func() error { _, err := io.ReadFull(peer, got); return err })
	l.until("all sent", func() bool { return e.sent == len(want) })
	require.NoError(t, <-taken)
	requireSame(t, want, got)
}

// There was room once, and then it is used up. Events of the other direction must not make the
// backend believe that there is room.
func testSendIdle(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	shrink(t, e.fd)
	e.recv()
	e.send([]byte("x"))
	l.settle()
	e.send(text(17, 2<<20))
	l.settle()
	require.True(t, e.flying[reactor.Send])
	for i := range 5 { // at first there may be some room left
		write(t, peer, "y")
		l.until("data", func() bool { return len(e.data) == i+1 })
	}
	l.idle()
	require.True(t, e.flying[reactor.Send])
}

func testSendReset(t *testing.T, b Backend) {
	l, e, peer, _ := clogged(t, b, "tcp")
	reset(t, peer)
	l.until("the send to fail", func() bool { return !e.flying[reactor.Send] })
	require.Contains(t, []syscall.Errno{syscall.EPIPE, syscall.ECONNRESET}, e.errno(reactor.Send))
	l.settle()
}
