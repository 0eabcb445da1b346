package reactortest

import (
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var watchStreams = []behavior{
	onNetworks("no byte is missed in either direction while the owner of a watch drains", testWatchRace),
	{"a short receive of a watch's owner is as good as a failed one", testWatchShort},
	{"thousands of watched descriptors have random activity", testWatchMany},
}

// testWatchRace has a busy peer. The owner follows the rules, and the peer may act at any moment.
func testWatchRace(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	shrink(t, e.fd)
	size := 4 << 20
	if reactor.Rewatches {
		size >>= 3 // each edge is more calls there
	}
	want, sends := text(9, size), text(10, size)
	written := inBackground(func() error { return dribble(peer, want) })
	read := make([]byte, size)
	taken := inBackground(func() error { _, err := io.ReadFull(peer, read); return err })
	e.watch()
	sent := 0
	rnd := rand.New(rand.NewPCG(11, 12))
	l.until("all bytes both ways", func() bool {
		if e.edge&in != 0 {
			e.drain()
		}
		for e.edge&out != 0 && sent < size {
			e.forget(out)
			n, err := tryWrite(e.fd, sends[sent:][:min(size-sent, 1+rnd.IntN(30000))])
			if err == syscall.EAGAIN {
				e.rewatch(out)
				break
			}
			require.NoError(t, err)
			sent += n
			e.edge |= out // there may be more room
		}
		return len(e.data) == size && sent == size
	})
	require.NoError(t, <-written)
	require.NoError(t, <-taken)
	requireSame(t, want, e.data)
	requireSame(t, sends, read)
}

func testWatchShort(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	want := text(13, 1<<20)
	written := inBackground(func() error {
		defer func() { _ = peer.(*net.TCPConn).CloseWrite() }()
		return dribble(peer, want)
	})
	e.watch()
	var room [2000]byte
	eof := false
	l.until("the end", func() bool {
		for e.edge&in != 0 {
			e.forget(in)
			n, err := tryRead(e.fd, room[:])
			switch {
			case err == syscall.EAGAIN:
				e.rewatch(in)
				return false
			case err == nil && n == 0:
				eof = true
				return true
			}
			require.NoError(t, err)
			e.data = append(e.data, room[:n]...)
			if n < len(room) && e.edge&(ended|erred) == 0 {
				e.rewatch(in)
				return false
			}
			e.edge |= in
		}
		return eof
	})
	require.NoError(t, <-written)
	requireSame(t, want, e.data)
}

// testWatchMany replaces some connections by others now and then.
func testWatchMany(t *testing.T, b Backend) {
	n, steps := 2000, 20000
	if testing.Short() {
		n, steps = 500, 5000
	}
	if reactor.Rewatches {
		n, steps = 100, 1000
	}
	l := newLoop(t, b, reactor.Config{Entries: 64, Buffers: 4, BufferSize: 4096})
	ends, peers := l.watched(local, n)
	wrote := make([]int, n)
	missing := 0
	serve := func() {
		for _, e := range l.told {
			if e.fd >= 0 && e.edge&in != 0 {
				missing += len(e.data)
				e.drain()
				missing -= len(e.data)
			}
		}
		l.told = l.told[:0]
	}
	rnd := rand.New(rand.NewPCG(17, 18))
	for step := range steps {
		i := rnd.IntN(n)
		switch rnd.IntN(200) {
		case 0:
			missing -= wrote[i] - len(ends[i].data)
			ends[i].closeWatched()
			require.NoError(t, peers[i].Close())
			ends[i], peers[i] = l.pair(local)
			ends[i].watch()
			wrote[i] = 0
		case 1, 2, 3, 4, 5, 6, 7, 8, 9:
			l.poll(0, false)
			serve()
		default:
			size := 1 + rnd.IntN(200)
			write(t, peers[i], string(text(uint64(i), 200)[:size]))
			wrote[i] += size
			missing += size
		}
		if step%1000 == 0 {
			l.poll(shortHold, true)
			serve()
		}
	}
	l.until("every byte", func() bool {
		serve()
		return missing == 0
	})
	for i, e := range ends {
		require.Len(t, e.data, wrote[i])
		e.closeWatched()
	}
	l.awaitEnds(ends)
	for _, e := range l.endpoints {
		require.LessOrEqual(t, len(e.ends[reactor.Watch]), 1)
	}
}
