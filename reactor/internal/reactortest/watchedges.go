package reactortest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var watchEdges = []behavior{
	onNetworks("edges tell of data, of room and of the end", testWatch),
	onNetworks("the first edge tells of the state before the registration", testWatchBefore),
	{"an edge tells of a reset before the registration", testWatchResetBefore},
	onNetworks("each arrival makes an edge, and unread data makes none", testWatchUnread),
	{"edges say whether it is an end or an error", testWatchMasks},
	{"a listener's edges tell of connections", testWatchListener},
}

func testWatch(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.narrow(network)
	e.watch()
	e.awaitEdge(out)
	require.Zero(t, e.edge&in, "nothing has come")
	for i := range 5 {
		before := len(e.data)
		write(t, peer, fmt.Sprint("hello ", i))
		e.awaitEdge(in)
		e.readEdges(before + 7)
		require.Equal(t, fmt.Sprint("hello ", i), string(e.data[before:]))

		discard(t, peer, e.clog())
		e.awaitEdge(out)
	}
	require.Zero(t, e.edge&(ended|erred))
	finish(t, peer)
	e.awaitEdge(in | ended)
	require.True(t, e.drain())
	require.Zero(t, e.edge&erred)
	require.True(t, e.flying[reactor.Watch], "the end is no end of the watch")
	e.stopWatch()
}

func testWatchBefore(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	for _, finishes := range []bool{false, true} {
		e, peer := l.pair(network)
		write(t, peer, "here")
		if finishes {
			finish(t, peer)
		}
		e.watch()
		e.awaitEdge(in | out)
		switch {
		case !finishes:
			require.Zero(t, e.edge&ended)
		case !reactor.Rewatches: // there it may be told only once the bytes are read
			e.awaitEdge(ended)
		}
		require.Equal(t, finishes, e.drain())
		require.Equal(t, "here", string(e.data))
		e.stopWatch()
		e.close()
	}
}

func testWatchResetBefore(t *testing.T, b Backend) {
	needHangups(t)
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	reset(t, peer)
	e.watch()
	e.awaitEdge(in | out | erred)
	_, err := tryRead(e.fd, make([]byte, 10))
	require.ErrorIs(t, err, syscall.ECONNRESET, "an edge does not take the error")
}

func testWatchUnread(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	write(t, peer, "here")
	e.watch()
	e.awaitEdge(in | out)
	for i := range 10 {
		if reactor.Rewatches {
			e.drain()
		}
		l.idle()
		e.edge = 0
		before := e.told
		l.idle()
		require.Equal(t, before, e.told)
		write(t, peer, fmt.Sprint("more ", i))
		e.awaitEdge(in)
	}
}

func testWatchMasks(t *testing.T, b Backend) {
	needHangups(t)
	l := newLoop(t, b, small)
	for _, unread := range []bool{false, true} {
		e, peer := l.narrow("tcp")
		e.watch()
		e.awaitEdge(out)
		e.clog()
		require.Zero(t, e.edge)
		if unread {
			write(t, peer, "unread")
			e.awaitEdge(in)
			e.forget(in)
			if reactor.Rewatches {
				e.drain()
			}
			l.settle()
			require.Zero(t, e.edge)
		}
		reset(t, peer)
		e.awaitEdge(in | out | ended | erred)
		_, err := tryRead(e.fd, make([]byte, 10))
		if err == nil { // bytes from before the reset
			_, err = tryRead(e.fd, make([]byte, 10))
		}
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = tryWrite(e.fd, []byte("x"))
		require.Error(t, err)
		e.closeWatched()
		e.awaitCanceled()
	}
}

func testWatchListener(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, to := listenSocket(t, "tcp")
	e := l.add(fd)
	e.watch()
	for i := range 5 {
		l.settle()
		require.Zero(t, e.edge&in)
		require.NoError(t, dialMany(to, i+1))
		e.awaitEdge(in)
		for n := 0; ; n++ {
			e.forget(in)
			conn, err := tryAccept(fd)
			if err == syscall.EAGAIN {
				require.Equal(t, i+1, n)
				e.rewatch(in)
				break
			}
			require.NoError(t, err)
			closeSocket(conn)
		}
	}
}
