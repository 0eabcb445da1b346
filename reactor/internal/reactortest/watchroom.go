package reactortest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var watchRoom = []behavior{
	onNetworks("a watch for input tells of room once it is asked for", testWatchRoom),
	onNetworks("room is asked for while bytes arrive", testWatchRoomBusy),
}

func testWatchRoom(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.narrow(network)
	e.watchIn()
	write(t, peer, "here")
	e.awaitEdge(in)
	if name := l.r.Name(); name == "epoll" || name == "io_uring" { // the others may tell
		require.Zero(t, e.edge&out)
	}
	for range 3 {
		discard(t, peer, e.clog())
		e.awaitEdge(out)
	}

	there, _ := l.pair(network)
	there.watchIn()
	l.idle()
	there.forget(out)
	there.rewatch(out)
	if l.r.Name() != "kqueue" { // which has told before
		there.awaitEdge(out)
	}
	there.stopWatch()
	there.rewatch(out) // nobody hears of it
	l.idle()
}

func testWatchRoomBusy(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	for range 20 {
		e, peer := l.pair(network)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				if _, err := peer.Write([]byte("x")); err != nil {
					return
				}
			}
		}()
		e.watchIn()
		e.awaitEdge(in)
		e.forget(out)
		e.rewatch(out)
		if l.r.Name() != "kqueue" {
			e.awaitEdge(out)
		}
		for range 3 { // input goes on
			e.readEdges(len(e.data) + 1)
		}
		e.stopWatch()
		require.NoError(t, peer.Close())
		<-stopped
	}
}
