package reactortest

import (
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var starving = []behavior{
	{"receiving goes on when buffers come back", testStarve},
	{"a receive that waits for a buffer can be canceled", testStarveCancel},
	{"sending goes on while receiving waits for a buffer", testStarveSend},
	{"a descriptor closed while it waited for a buffer is forgotten", testStarveClose},
	{"buffers stay as they are until they are released", testBuffersStay},
	{"releasing more often than received panics", testReleaseTwice},
	{"many connections that share one buffer cost few completions", testStarveStorm},
	{"idle connections that share one buffer hold none of the others up", testStarveIdle},
}

// starved returns a loop whose buffers are all kept by ends. Each end still has to receive the rest
// of its peer's bytes.
func starved(t *testing.T, b Backend, n int) (l *loop, ends []*endpoint, want [][]byte) {
	t.Helper()
	l = newLoop(t, b, scarce)
	l.settle()
	ends, peers := l.pairs("tcp", n)
	for i, e := range ends {
		want = append(want, text(uint64(i), 3*scarce.BufferSize))
		e.keep = true
		e.recv()
		write(t, peers[i], string(want[i]))
	}
	l.drain(ends)
	require.Less(t, received(ends), n*3*scarce.BufferSize, "the buffers were never all in use")
	require.LessOrEqual(t, received(ends), scarce.Buffers*scarce.BufferSize)
	require.NotZero(t, received(ends))
	return l, ends, want
}

// drain returns when the ends receive nothing more.
func (l *loop) drain(ends []*endpoint) {
	l.t.Helper()
	l.until("the first bytes", func() bool { return received(ends) > 0 })
	for before := -1; before != received(ends); {
		before = received(ends)
		l.settle()
	}
}

func received(ends []*endpoint) (n int) {
	for _, e := range ends {
		n += len(e.data)
	}
	return n
}

// feed releases the kept buffers, one at a time, until all bytes have been received.
func (l *loop) feed(ends []*endpoint, want [][]byte) {
	l.t.Helper()
	total := 0
	for _, w := range want {
		total += len(w)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for deadline := time.Now().Add(patience.Limit); received(ends) < total; l.poll(0, false) { // a single release need not free a buffer
		require.True(l.t, time.Now().Before(deadline), "%d of %d bytes\n%s", received(ends), total, l.dump())
		for _, i := range rnd.Perm(len(ends)) {
			if len(ends[i].kept) > 0 {
				ends[i].release(1)
				break
			}
		}
	}
	for i, e := range ends {
		requireSame(l.t, want[i], e.data)
		e.release(len(e.kept))
	}
}

func testStarve(t *testing.T, b Backend) {
	const n = 24
	l, ends, want := starved(t, b, n)
	// Either the reactor waits, or the operation ends with ENOBUFS and is submitted again. In both
	// cases the work is bounded: one round per connection, and then no completions.
	full := l.events
	for range 5 {
		l.idle()
	}
	require.True(t, l.faulty || l.events-full < 3*n, "completions without data, again and again\n%s", l.dump())
	require.True(t, flying(ends, reactor.Recv))
	l.feed(ends, want)
	for _, e := range ends {
		for _, c := range e.ends[reactor.Recv] {
			require.True(t, c.Res > 0 || c.Errno() == syscall.ENOBUFS, "%v", c.Errno())
		}
		require.True(t, e.flying[reactor.Recv])
	}
	l.idle()
}

func testStarveCancel(t *testing.T, b Backend) {
	l, ends, want := starved(t, b, 8)
	for _, e := range ends {
		before := len(e.ends[reactor.Recv])
		e.stop(reactor.Recv)
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Recv))
		require.Len(t, e.ends[reactor.Recv], before+1)
	}
	had := received(ends)
	for _, e := range ends {
		e.release(len(e.kept))
	}
	l.settle()
	require.Equal(t, had, received(ends), "received after the cancel")
	for _, e := range ends {
		e.keep = false
		e.recv()
	}
	l.feed(ends, want)
}

func testStarveSend(t *testing.T, b Backend) {
	l := newLoop(t, b, scarce)
	ends, peers := l.pairs("tcp", 4)
	out := text(10, 2<<20)
	for i, e := range ends {
		shrink(t, e.fd)
		e.keep = true
		e.recv()
		e.send(out)
		write(t, peers[i], string(text(uint64(i), 3*scarce.BufferSize)))
	}
	l.drain(ends)
	require.Less(t, received(ends), 4*3*scarce.BufferSize, "the buffers were never all in use")
	got := make([]byte, len(out))
	for i, e := range ends {
		require.True(t, e.flying[reactor.Send])
		taken := inBackground(func() error { _, err := io.ReadFull(peers[i], got); return err })
		l.until("sent while receiving waits", func() bool { return e.sent == len(out) })
		require.NoError(t, <-taken)
		requireSame(t, out, got)
	}
}

func testStarveClose(t *testing.T, b Backend) {
	l, ends, _ := starved(t, b, 8)
	numbers := map[int]bool{}
	for _, e := range ends {
		e.stop(reactor.Recv)
		numbers[e.fd] = true
		e.close()
	}
	l.settle()
	next, peers := l.pairs(local, 8)
	reused := false
	for i, e := range next {
		reused = reused || numbers[e.fd]
		e.recv()
		write(t, peers[i], string(text(uint64(100+i), 50)))
	}
	require.True(t, reused, "no number was reused: this test shows nothing")
	l.settle()
	for _, e := range ends {
		e.release(len(e.kept))
	}
	l.until("the new connections' data", func() bool { return received(next) == 8*50 })
	for i, e := range next {
		requireSame(t, text(uint64(100+i), 50), e.data)
	}
}

func testBuffersStay(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ends, peers := l.pairs("tcp", 2)
	holds, flows := ends[0], ends[1]
	holds.keep = true
	holds.recv()
	flows.recv()
	write(t, peers[0], "hold this")
	l.until("data", func() bool { return len(holds.data) == 9 })
	want := text(11, 8*small.Buffers*small.BufferSize)
	written := inBackground(func() error { _, err := peers[1].Write(want); return err })
	l.until("all data", func() bool { return len(flows.data) == len(want) })
	require.NoError(t, <-written)
	requireSame(t, want, flows.data)
	holds.release(len(holds.kept)) // also compares the content
}

func testReleaseTwice(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.keep = true
	e.recv()
	write(t, peer, "one")
	l.until("data", func() bool { return len(e.data) == 3 })
	kept := e.kept[0].Buffer
	e.release(len(e.kept))
	require.Panics(t, func() { l.r.Release(kept) })
	require.Panics(t, func() { l.r.Release(kept) }, "the first time changed nothing")

	write(t, peer, "two") // the panic concerns the caller: the reactor still works
	l.until("data", func() bool { return string(e.data) == "onetwo" })
	e.release(len(e.kept))
	require.Panics(t, func() { l.r.Release(kept) })
}

// one is a reactor with a single buffer.
var one = reactor.Config{Entries: 64, Buffers: 1, BufferSize: 1024}

// A released buffer serves one receive or a few. If it armed all waiting receives, all but those
// would end with ENOBUFS, each time.
func testStarveStorm(t *testing.T, b Backend) {
	const n, rounds = 100, 20
	l := newLoop(t, b, one)
	ends, peers := l.pairs("tcp", n)
	for _, e := range ends {
		e.recv()
	}
	l.settle()
	begun := l.events
	for round := range rounds {
		for i, peer := range peers {
			write(t, peer, string(text(uint64(i), 400)))
		}
		l.until("a message on every connection", func() bool { return received(ends) == (round+1)*n*400 })
	}
	require.True(t, l.faulty || l.events-begun < 4*n*rounds, "%d completions for %d messages\n%s", l.events-begun, n*rounds, l.dump())
}

// The receives of idle connections are armed as well, whether or not data has arrived for them.
// Then the receives behind them are armed.
func testStarveIdle(t *testing.T, b Backend) {
	const n = 100
	l := newLoop(t, b, one)
	ends, peers := l.pairs("tcp", n)
	for _, e := range ends {
		e.recv()
	}
	for i, peer := range peers {
		write(t, peer, string(text(uint64(i), 400)))
	}
	l.until("a message on every connection", func() bool { return received(ends) == n*400 })
	for i := range peers {
		i = n - 1 - i
		write(t, peers[i], "more")
		l.until("the only message", func() bool { return len(ends[i].data) == 404 })
	}
}
