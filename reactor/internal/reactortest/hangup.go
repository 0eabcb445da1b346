package reactortest

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var hangingUp = []behavior{
	{"a hangup is a reset, and neither data nor the end", testHangup},
	{"a hangup that is there already is told at once, and takes nothing", testHangupBefore},
	{"a hangup can be canceled", testHangupCancel},
	{"a hangup can be in flight beside a receive", testHangupBesideRecv},
}

func needHangups(t *testing.T) {
	t.Helper()
	if why := forgetsErrors(); why != "" {
		t.Skip(why)
	}
}

// hungUp reports whether a Hangup has completed.
func (e *endpoint) hungUp() bool { return e.hangups > 0 }

// endHangup ends a Hangup that may still be in flight.
func (e *endpoint) endHangup() {
	e.l.t.Helper()
	if e.flying[reactor.Hangup] {
		e.stop(reactor.Hangup)
	}
}

func resetPeer(t *testing.T, peer net.Conn) {
	t.Helper()
	require.NoError(t, peer.(*net.TCPConn).SetLinger(0))
	require.NoError(t, peer.Close())
}

func testHangup(t *testing.T, b Backend) {
	needHangups(t)
	l := newLoop(t, b, small)
	for _, finishes := range []bool{false, true} {
		e, peer := l.pair("tcp")
		e.ready(reactor.Hangup)
		l.settle()
		write(t, peer, "data")
		l.settle()
		if finishes {
			finish(t, peer)
			l.settle()
		}
		require.False(t, e.hungUp())
		require.True(t, e.flying[reactor.Hangup])
		resetPeer(t, peer)
		l.until("the hangup", e.hungUp)
		got := make([]byte, 10)
		n, err := tryRead(e.fd, got)
		require.NoError(t, err)
		require.Equal(t, "data", string(got[:n]), "it takes nothing")
		e.endHangup()
		e.close()
	}
}

func testHangupBefore(t *testing.T, b Backend) {
	needHangups(t)
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.ready(reactor.Readable) // so that an edge has reported the reset before
	resetPeer(t, peer)
	l.until("readable", func() bool { return !e.flying[reactor.Readable] })
	l.settle()
	e.ready(reactor.Hangup)
	l.until("the hangup", e.hungUp)
	e.endHangup()
	_, err := tryRead(e.fd, make([]byte, 10))
	require.ErrorIs(t, err, syscall.ECONNRESET, "the error is still there")
}

func testHangupCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for range 3 {
		e.ready(reactor.Hangup)
		l.settle()
		e.stop(reactor.Hangup)
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Hangup))
	}
	require.NoError(t, peer.Close())
	l.settle()
	require.False(t, e.hungUp())
	e.close()
	l.idle()
}

func testHangupBesideRecv(t *testing.T, b Backend) {
	needHangups(t)
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.ready(reactor.Hangup)
	e.recv()
	write(t, peer, "data")
	l.until("data", func() bool { return string(e.data) == "data" })
	resetPeer(t, peer)
	l.until("the reset", func() bool { return !e.flying[reactor.Recv] })
	require.Equal(t, syscall.ECONNRESET, e.errno(reactor.Recv), "a Hangup does not take the error")
	e.endHangup()
}
