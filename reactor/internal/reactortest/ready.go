package reactortest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var readiness = []behavior{
	onNetworks("says when there is something to receive, and when there is room to send", testReady),
	onNetworks("readiness that is there already is told at once", testReadyAtOnce),
	onNetworks("the end is something to receive", testReadyEnd),
	{"a reset is something to receive, and leaves nothing to wait for in sending", testReadyReset},
	{"readiness that is waited for in vain leaves Poll to wait, and can be canceled", testReadyCancel},
	{"no byte is missed between a call that would wait and the wait", testReadyRace},
	{"a receive can follow readiness, and readiness a receive", testReadyThenRecv},
}

func (e *endpoint) ready(k reactor.Kind) { e.l.t.Helper(); e.start(reactor.Op{Kind: k}) }

func (e *endpoint) awaitReady(k reactor.Kind) {
	e.l.t.Helper()
	e.ready(k)
	e.l.until(k.String(), func() bool { return !e.flying[k] })
	require.Zero(e.l.t, e.errno(k))
}

func testReady(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.narrow(network)
	for i := range 5 {
		e.ready(reactor.Readable)
		l.settle()
		require.True(t, e.flying[reactor.Readable], "nothing has come")
		write(t, peer, fmt.Sprint("hello ", i))
		l.until("readable", func() bool { return !e.flying[reactor.Readable] })
		got := make([]byte, 100)
		n, err := tryRead(e.fd, got)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("hello ", i), string(got[:n]))

		e.awaitReady(reactor.Writable)
		discard(t, peer, e.fill())
		l.until("writable", func() bool { return !e.flying[reactor.Writable] })
	}
}

// narrow is a pair that accepts few unread bytes, and always as many.
func (l *loop) narrow(network string) (*endpoint, net.Conn) {
	l.t.Helper()
	e, peer := l.pair(network)
	shrink(l.t, e.fd)
	fixWindow(l.t, peer)
	return e, peer
}

// fixWindow limits the unread bytes that the peer's system accepts to a fixed number. Without it
// the number grows as the peer reads.
func fixWindow(t testing.TB, peer net.Conn) {
	t.Helper()
	require.NoError(t, peer.(interface{ SetReadBuffer(int) error }).SetReadBuffer(64<<10))
}

// fill writes until there is no more room, even after all bytes in flight have arrived. It leaves a
// Writable in flight, and returns the number of bytes.
func (e *endpoint) fill() (sent int) {
	e.l.t.Helper()
	return e.fillWhile(func() bool {
		e.ready(reactor.Writable)
		e.l.settle()
		return !e.flying[reactor.Writable]
	})
}

// fillWhile fills the room to send again and again, while there is room once all bytes in flight
// have arrived. It returns the number of bytes.
func (e *endpoint) fillWhile(room func() bool) (sent int) {
	e.l.t.Helper()
	for sent < 64<<20 {
		sent += fill(e.l.t, e.fd)
		if !room() {
			return sent
		}
	}
	e.l.t.Fatal("there is room without end")
	return sent
}

func fill(t testing.TB, fd int) (sent int) {
	t.Helper()
	p := text(3, 16<<10)
	for {
		n, err := tryWrite(fd, p)
		if err == syscall.EAGAIN {
			return sent
		}
		require.NoError(t, err)
		sent += n
	}
}

func testReadyAtOnce(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	write(t, peer, "here")
	for range 10 { // no data is read
		e.awaitReady(reactor.Readable)
		e.awaitReady(reactor.Writable)
	}
	l.idle()
	require.Len(t, e.ends[reactor.Readable], 10)
}

func testReadyEnd(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	e.ready(reactor.Readable)
	l.settle()
	finish(t, peer)
	l.until("readable", func() bool { return !e.flying[reactor.Readable] })
	n, err := tryRead(e.fd, make([]byte, 10))
	require.NoError(t, err)
	require.Zero(t, n)
	e.awaitReady(reactor.Readable)
}

func testReadyReset(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.narrow("tcp")
	e.ready(reactor.Readable)
	e.fill()
	require.True(t, e.flying[reactor.Readable])
	reset(t, peer)
	l.until("both", func() bool { return !e.inFlight() })
	if why := forgetsErrors(); why != "" {
		t.Skip("what it is: ", why)
	}
	_, err := tryRead(e.fd, make([]byte, 10))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func testReadyCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.narrow("tcp")
	sent, stopped := 0, 0
	for i := range 5 {
		sent += e.fill()
		e.ready(reactor.Readable)
		if i%2 == 0 { // else it is canceled in the batch in which it is submitted
			l.idle()
		}
		e.stop(reactor.Readable)
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Readable))
		if e.flying[reactor.Writable] { // otherwise the peer's system has taken more by itself
			e.stop(reactor.Writable)
			require.Equal(t, syscall.ECANCELED, e.errno(reactor.Writable))
			stopped++
		}
		ends := len(e.ends[reactor.Writable])
		l.settle()
		require.Len(t, e.ends[reactor.Readable], i+1)
		require.Len(t, e.ends[reactor.Writable], ends)
	}
	require.NotZero(t, stopped)
	discard(t, peer, sent)
	e.awaitReady(reactor.Writable)
	write(t, peer, "x")
	e.awaitReady(reactor.Readable)
}

func testReadyRace(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	want := text(9, 1<<20)
	written := inBackground(func() error { return dribble(peer, want) })
	var got []byte
	room := make([]byte, 10000)
	for len(got) < len(want) {
		switch n, err := tryRead(e.fd, room[:1+rand.IntN(len(room))]); err {
		case nil:
			got = append(got, room[:n]...)
		case syscall.EAGAIN:
			e.awaitReady(reactor.Readable)
		default:
			require.NoError(t, err)
		}
	}
	require.NoError(t, <-written)
	requireSame(t, want, got)
	require.Less(t, len(e.ends[reactor.Readable]), 3000, "hardly any in vain")
}

func testReadyThenRecv(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 10 {
		write(t, peer, "left ")
		e.awaitReady(reactor.Readable)
		e.recv() // no receive has taken the data: it is still unread
		l.until("data", func() bool { return len(e.data) == 10*i+5 })
		e.stop(reactor.Recv)
		e.ready(reactor.Readable)
		l.settle()
		if i%2 == 0 { // a Readable may complete once for data that the receive has taken
			e.stop(reactor.Readable)
		}
		write(t, peer, "more ")
		if i%2 == 0 {
			e.ready(reactor.Readable)
		}
		l.until("readable", func() bool { return !e.flying[reactor.Readable] })
		got := make([]byte, 5)
		n, err := tryRead(e.fd, got)
		if err == syscall.EAGAIN {
			e.awaitReady(reactor.Readable)
			n, err = tryRead(e.fd, got)
		}
		require.NoError(t, err)
		require.Equal(t, 5, n)
		e.data = append(e.data, got...)
	}
}
