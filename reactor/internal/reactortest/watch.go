package reactortest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var watching = []behavior{
	onNetworks("edges tell of data, of room and of the end", testWatch),
	onNetworks("the first edge tells of the state before the registration", testWatchBefore),
	{"an edge tells of a reset before the registration", testWatchResetBefore},
	onNetworks("each arrival makes an edge, and unread data makes none", testWatchUnread),
	{"edges say whether it is an end or an error", testWatchMasks},
	{"a listener's edges tell of connections", testWatchListener},
	onNetworks("no byte is missed in either direction while the owner of a watch drains", testWatchRace),
	{"a short receive of a watch's owner is as good as a failed one", testWatchShort},
	{"a canceled watch ends once, and the descriptor can be watched again", testWatchCancel},
	{"a cancel that meets edges ends a watch once, and nothing is lost", testWatchCancelRace},
	{"a watch follows a receive, and a receive a watch", testWatchAndRecv},
	{"a close ends a watch, also one that was never polled", testWatchClose},
	{"no edge crosses to a reused descriptor", testWatchReuse},
	{"a second descriptor keeps a closed socket's edges away", testWatchReuseDup},
	{"Close runs closes of watched descriptors", testWatchClosePending},
	{"a descriptor that is none ends its watch", testWatchBad},
	{"a watch whose registration fails ends with the error", testWatchRefused},
	{"no edge is lost when the ring is full of them", testWatchFull},
	{"no edge is lost when the ring is full of them and the kernel drops some", testWatchFullLoss},
	{"a rescuer finds edges, cancels and closes", testWatchRescue},
	{"a watch goes on when the kernel drops its completions", testWatchLoss},
	{"a canceled watch ends although the kernel drops its completions", testWatchLossCancel},
	{"thousands of watched descriptors have random activity", testWatchMany},
}

const (
	in    = reactor.EdgeIn
	out   = reactor.EdgeOut
	ended = reactor.EdgeEnd
	erred = reactor.EdgeError
)

func (e *endpoint) watch() { e.l.t.Helper(); e.start(reactor.Op{Kind: reactor.Watch}) }

// forget forgets edges, as an owner must before it calls, and after EAGAIN asks for the next ones.
func (e *endpoint) forget(d reactor.Edge) { e.edge &^= d }

func (e *endpoint) rewatch(d reactor.Edge) {
	e.l.t.Helper()
	e.l.submit(reactor.Op{Kind: reactor.Rewatch, FD: e.fd, Token: e.token, Edge: d})
}

func (e *endpoint) awaitEdge(d reactor.Edge) {
	e.l.t.Helper()
	e.l.until(fmt.Sprintf("edge %b", d), func() bool { return e.edge&d == d })
}

// drain reads until the kernel has nothing more, as an owner must. eof says that the stream ended.
func (e *endpoint) drain() (eof bool) {
	e.l.t.Helper()
	var room [3000]byte
	for {
		e.forget(in)
		n, err := tryRead(e.fd, room[:])
		switch {
		case err == syscall.EAGAIN:
			e.rewatch(in)
			return false
		case err == nil && n == 0:
			return true
		}
		require.NoError(e.l.t, err)
		e.data = append(e.data, room[:n]...)
	}
}

// readEdges reads as edges come, until so many bytes have arrived.
func (e *endpoint) readEdges(n int) {
	e.l.t.Helper()
	e.l.until("bytes", func() bool {
		if e.edge&in != 0 {
			e.drain()
		}
		return len(e.data) >= n
	})
}

// clog writes until there is no more room, even after all bytes in flight have arrived.
func (e *endpoint) clog() (sent int) {
	e.l.t.Helper()
	for sent < 64<<20 {
		e.forget(out)
		sent += fill(e.l.t, e.fd)
		e.rewatch(out)
		e.l.settle()
		if e.edge&out == 0 {
			return sent
		}
	}
	e.l.t.Fatal("there is room without end")
	return sent
}

// stopWatch cancels the Watch, which must end with ECANCELED.
func (e *endpoint) stopWatch() {
	e.l.t.Helper()
	e.stop(reactor.Watch)
	require.Equal(e.l.t, syscall.ECANCELED, e.errno(reactor.Watch))
}

// closeWatched closes the descriptor of a Watch, which must end.
func (e *endpoint) closeWatched() {
	e.l.t.Helper()
	e.stopping[reactor.Watch] = true
	e.l.submit(reactor.Op{Kind: reactor.Close, Target: reactor.Watch, FD: e.fd, Token: e.token})
	e.fd = -1
}

func (e *endpoint) watchEnds() {
	e.l.t.Helper()
	e.l.until("the end of a watch", func() bool { return !e.flying[reactor.Watch] })
	require.Equal(e.l.t, syscall.ECANCELED, e.errno(reactor.Watch))
	require.Len(e.l.t, e.ends[reactor.Watch], 1)
}

func testWatch(t *testing.T, b Backend, network string) {
	l := newLoop(t, b, small)
	e, peer := l.pair(network)
	shrink(t, e.fd)
	fixWindow(t, peer)
	e.watch()
	e.awaitEdge(out)
	require.Zero(t, e.edge&in, "nothing has come")
	for i := range 5 {
		before := len(e.data)
		write(t, peer, fmt.Sprint("hello ", i))
		e.awaitEdge(in)
		e.readEdges(before + 7)
		require.Equal(t, fmt.Sprint("hello ", i), string(e.data[before:]))

		sent := e.clog()
		_, err := io.CopyN(io.Discard, peer, int64(sent))
		require.NoError(t, err)
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
		e, peer := l.pair("tcp")
		shrink(t, e.fd)
		fixWindow(t, peer)
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
		e.watchEnds()
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

// dribble writes in pieces of random sizes.
func dribble(c net.Conn, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), 1+rand.IntN(3000))
		if _, err := c.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
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

func testWatchCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 10 {
		e.edge = 0
		e.watch()
		if i%2 == 0 { // else both are submitted in one batch
			e.awaitEdge(out)
		}
		e.stopWatch()
		told := e.told
		write(t, peer, "x")
		l.settle()
		require.Len(t, e.ends[reactor.Watch], i+1)
		require.Equal(t, told, e.told, "an edge after the end")
	}
	e.edge = 0
	e.watch()
	e.awaitEdge(in | out)
	e.readEdges(10)
	require.Equal(t, "xxxxxxxxxx", string(e.data))
	for range 3 { // cancels of other kinds, and of another generation
		e.cancel(reactor.Recv)
		former := reactor.MakeToken(e.token.Index(), 0)
		l.submit(reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, FD: e.fd, Token: former})
	}
	l.settle()
	require.True(t, e.flying[reactor.Watch])
	write(t, peer, "y")
	e.readEdges(11)
}

func testWatchCancelRace(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	want := text(14, 1<<20)
	if reactor.Rewatches {
		want = want[:len(want)/8]
	}
	written := inBackground(func() error { return dribble(peer, want) })
	rnd := rand.New(rand.NewPCG(13, 14))
	for deadline := time.Now().Add(patience.Limit); len(e.data) < len(want); {
		require.True(t, time.Now().Before(deadline), "%d of %d bytes\n%s", len(e.data), len(want), l.dump())
		e.edge = 0
		e.watch()
		for range rnd.IntN(4) {
			l.poll(shortHold, true)
			if e.edge&in != 0 {
				e.drain()
			}
		}
		ends := len(e.ends[reactor.Watch])
		e.stopping[reactor.Watch] = true
		canceled := inBackground(func() error {
			return l.r.Submit(&reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, FD: e.fd, Token: e.token})
		})
		l.until("the end of a canceled watch", func() bool { return !e.flying[reactor.Watch] })
		require.NoError(t, <-canceled)
		require.Len(t, e.ends[reactor.Watch], ends+1)
	}
	require.NoError(t, <-written)
	requireSame(t, want, e.data)
}

func testWatchAndRecv(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 10 {
		write(t, peer, "left ")
		e.recv()
		l.until("data", func() bool { return len(e.data) == 10*i+5 })
		e.stop(reactor.Recv)
		e.send([]byte("sent "))
		l.until("sent", func() bool { return !e.flying[reactor.Send] })
		if i%2 == 0 { // before the registration, and reported before it; else after it
			write(t, peer, "more ")
			l.settle()
		}
		e.edge = 0
		e.watch()
		e.awaitEdge(out)
		if i%2 == 1 {
			write(t, peer, "more ")
		}
		e.readEdges(10*i + 10)
		e.stopWatch()
	}
}

func testWatchClose(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for i := range 9 {
		e, peer := l.pair("tcp")
		e.watch()
		if i%3 > 0 {
			e.awaitEdge(out)
		}
		if i%3 > 1 {
			write(t, peer, "an edge on its way")
		}
		if i%2 == 0 {
			e.closeWatched()
		} else { // any goroutine may close
			e.stopping[reactor.Watch] = true
			op := reactor.Op{Kind: reactor.Close, Target: reactor.Watch, FD: e.fd, Token: e.token, NoWait: true}
			e.fd = -1
			require.NoError(t, <-inBackground(func() error { return l.r.Submit(&op) }))
		}
		e.watchEnds()
		_, err := peer.Read(make([]byte, 1))
		require.Error(t, err, "it was not closed")
	}
	l.settle()
	l.idle()
}

// Many watched connections end at once, with edges on their way. New ones take their numbers.
func testWatchReuse(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 512, Buffers: 4, BufferSize: 16 << 10})
	l.out = make([]reactor.Completion, 3)
	const width, rounds = 25, 3
	numbers := map[int]int{}
	for range rounds {
		ends, peers := l.pairs("tcp", width)
		for i, e := range ends {
			e.watch()
			write(t, peers[i], "old")
			if i%3 == 0 {
				reset(t, peers[i])
			}
		}
		for i, e := range ends {
			numbers[e.fd]++
			if i%2 == 0 {
				e.awaitEdge(out)
			}
			e.closeWatched()
			if i%4 > 1 {
				e.watchEnds()
			}
			next, peer := l.pair(local)
			numbers[next.fd]++
			next.watch()
			next.awaitEdge(out)
			l.poll(0, false)
			require.Zero(t, next.edge&^out, "an edge of the old connection")
			write(t, peer, "new")
			next.readEdges(3)
			require.Equal(t, "new", string(next.data))
			require.Zero(t, next.edge&(ended|erred))
			next.closeWatched()
			e.watchEnds()
			next.watchEnds()
		}
	}
	most := 0
	for _, n := range numbers {
		most = max(most, n)
	}
	require.Greater(t, most, rounds, "no number was reused: this test shows nothing")
}

func testWatchReuseDup(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.settle()
	e, peer := l.pair("tcp")
	e.watch()
	write(t, peer, "to the old one")
	e.readEdges(14)
	fd := e.fd
	dup := dupSocket(t, fd)
	defer closeSocket(dup)
	ln := listen(t, "tcp")
	e.closeWatched()
	e.watchEnds()
	l.settle()

	next := l.add(dialSocket(t, "tcp", ln.Addr()))
	nextPeer := accept(t, ln)
	if !leavesNumbers {
		require.Equal(t, fd, next.fd, "the number was not reused: this test shows nothing")
	}
	next.watch()
	next.awaitEdge(out)
	write(t, peer, "stale")
	finish(t, peer)
	l.settle()
	require.Zero(t, next.edge&^out)
	write(t, nextPeer, "fresh")
	next.readEdges(5)
	require.Equal(t, "fresh", string(next.data))
	l.idle()
}

func testWatchClosePending(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	ends, peers := l.pairs(local, 50)
	for i, e := range ends {
		e.watch()
		if i == 25 {
			l.poll(0, false)
		}
	}
	for _, e := range ends {
		e.closeWatched()
	}
	l.close() // without a Poll
	for _, c := range peers {
		_, err := c.Read(make([]byte, 1))
		require.EqualError(t, err, "EOF")
	}
}

func testWatchBad(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	fd, _ := listenSocket(t, "tcp")
	closeSocket(fd)
	for _, fd := range []int{fd, -1, 1<<30 + 4} {
		e := l.add(fd)
		e.watch()
		l.until("the end of a watch", func() bool { return !e.flying[reactor.Watch] })
		require.NotZero(t, e.errno(reactor.Watch))
		e.fd = -1
	}
	l.settle()
}

func testWatchRefused(t *testing.T, b Backend) {
	if faults.Of(&b.Config) != nil {
		t.Skip("the plan of this test is the only one")
	}
	if reactor.Rewatches {
		t.Skip("nothing can be refused here")
	}
	for _, errno := range []syscall.Errno{syscall.ENOMEM, syscall.ENOSPC, syscall.EAGAIN} {
		plan := faults.New(1, faults.Rule{Call: faults.Control, Errno: errno, Every: 1, Most: 2})
		faults.Into(&b.Config, plan)
		l := newLoop(t, b, small)
		ends, peers := l.pairs("tcp", 2)
		for i, e := range ends {
			write(t, peers[i], "here")
			e.watch()
		}
		for _, e := range ends {
			if errno == syscall.EAGAIN { // the harness submits it again, as every user must
				e.awaitEdge(in)
				continue
			}
			l.until("the end of a watch", func() bool { return !e.flying[reactor.Watch] })
			require.Equal(t, errno, e.errno(reactor.Watch))
			require.Zero(t, e.told)
			e.watch()
			e.readEdges(4)
		}
		require.Equal(t, 2, plan.Injected(faults.Control, errno))
		l.close()
	}
}

// testWatchFull lets many more edges come than the rings hold, while nobody polls.
func testWatchFull(t *testing.T, b Backend) { full(t, newLoop(t, b, tiny)) }

func testWatchFullLoss(t *testing.T, b Backend) {
	l, plan, ended := newLosing(t, b, tiny, faults.Rule{Every: 100})
	full(t, l)
	require.NotZero(t, plan.Injected(faults.Complete, syscall.ENOMEM))
	require.Zero(t, *ended, "no watch has ended")
}

func full(t *testing.T, l *loop) {
	t.Helper()
	const n = 300
	ends, peers := l.pairs(local, n)
	for _, e := range ends {
		e.watch()
	}
	for _, e := range ends {
		e.awaitEdge(out)
	}
	for round := range 4 {
		for i, c := range peers {
			former := reactor.MakeToken(ends[i].token.Index(), 0)
			l.submit(reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, FD: ends[i].fd, Token: former})
			write(t, c, "some")
		}
		enterKernel(t)
		if round == 2 { // those that have lost their poll as well as the others
			for _, e := range ends[:n/2] {
				e.cancel(reactor.Watch)
			}
			l.until("the ends", func() bool { return !flying(ends[:n/2], reactor.Watch) })
			for _, e := range ends[:n/2] {
				require.Len(t, e.ends[reactor.Watch], 1)
				e.edge = 0
				e.watch()
			}
		}
		for _, e := range ends {
			e.readEdges(4 * (round + 1))
		}
	}
	for _, e := range ends {
		require.True(t, e.flying[reactor.Watch])
		e.closeWatched()
	}
	l.until("the ends", func() bool { return !flying(ends, reactor.Watch) })
	l.idle()
	for _, c := range peers {
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
	}
}

func testWatchRescue(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ends, peers := l.pairs("tcp", 3)
	for _, e := range ends {
		e.watch()
		e.awaitEdge(out)
	}
	e, peer := ends[0], peers[0]
	for i := range 10 {
		write(t, peer, "x")
		l.rescueUntil("an edge", func(*atomic.Bool) {}, func() bool { return e.edge&in != 0 })
		e.drain()
		require.Len(t, e.data, i+1)
	}
	ends[1].stopping[reactor.Watch] = true
	cancel := reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, FD: ends[1].fd, Token: ends[1].token}
	require.NoError(t, <-inBackground(func() error { return l.r.Submit(&cancel) }))
	l.rescueUntil("the end of a watch", func(*atomic.Bool) {}, func() bool { return !ends[1].flying[reactor.Watch] })
	require.Equal(t, syscall.ECANCELED, ends[1].errno(reactor.Watch))

	ends[2].stopping[reactor.Watch] = true
	end := reactor.Op{Kind: reactor.Close, Target: reactor.Watch, FD: ends[2].fd, Token: ends[2].token}
	ends[2].fd = -1
	require.NoError(t, <-inBackground(func() error { return l.r.Submit(&end) }))
	l.rescueUntil("the end of a watch", func(*atomic.Bool) {}, func() bool { return !ends[2].flying[reactor.Watch] })
	_, err := peers[2].Read(make([]byte, 1))
	require.Error(t, err, "the rescuer has not closed it")

	// The owner finds all of that done.
	ends[1].edge = 0
	ends[1].watch()
	l.settle()
	for _, e := range ends[1:] {
		require.Len(t, e.ends[reactor.Watch], 1)
	}
	require.Equal(t, syscall.ECANCELED, ends[2].errno(reactor.Watch))
	write(t, peers[1], "again")
	ends[1].readEdges(5)
	l.settle()
	require.True(t, ends[1].flying[reactor.Watch], "the cancel was for the former one")
}

func testWatchLoss(t *testing.T, b Backend) {
	l, plan, ended := newLosing(t, b, small, faults.Rule{Every: 3, Most: 40})
	ends, peers := l.pairs("tcp", 10)
	for _, e := range ends {
		e.watch()
	}
	for round := 0; plan.Injected(faults.Complete, syscall.ENOMEM) < 40; round++ {
		for _, c := range peers {
			write(t, c, "x")
		}
		for range round % 3 {
			l.dispatchAll(l.rescue())
		}
		for _, e := range ends {
			e.readEdges(round + 1)
		}
	}
	l.settle()
	require.Zero(t, *ended, "no watch has ended")
	for _, e := range ends {
		require.True(t, e.flying[reactor.Watch])
		e.stopWatch()
		require.Len(t, e.ends[reactor.Watch], 1)
	}
}

func testWatchLossCancel(t *testing.T, b Backend) {
	for round := range 12 {
		l, plan, _ := newLosing(t, b, small, faults.Rule{Every: 1 + round%4, Most: 3})
		ends, peers := l.pairs("tcp", 8)
		for i, e := range ends {
			e.watch()
			if i == 4 && round%2 == 0 {
				l.poll(0, false)
			}
		}
		for i, e := range ends {
			write(t, peers[i], "x")
			if i%2 == 0 {
				e.cancel(reactor.Watch)
			} else {
				e.closeWatched()
			}
		}
		if round%3 == 0 {
			l.dispatchAll(l.rescue())
		}
		l.until("the ends", func() bool { return !flying(ends, reactor.Watch) })
		l.settle()
		for i, e := range ends {
			require.Len(t, e.ends[reactor.Watch], 1)
			if i%2 == 1 {
				_, err := peers[i].Read(make([]byte, 1))
				require.Error(t, err)
			}
		}
		require.Equal(t, 3, plan.Injected(faults.Complete, syscall.ENOMEM))
		l.close()
	}
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
	ends, peers := l.pairs(local, n)
	wrote := make([]int, n)
	for _, e := range ends {
		e.watch()
	}
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
	l.until("the ends", func() bool { return !flying(ends, reactor.Watch) })
	for _, e := range l.endpoints {
		require.LessOrEqual(t, len(e.ends[reactor.Watch]), 1)
	}
}
