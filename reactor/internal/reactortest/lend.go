package reactortest

import (
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

// Calls that goroutines other than the owner may make, most of them while the owner waits.
var lending = []behavior{
	{"a release by another goroutine ends the starvation of a waiting owner", testLendRelease},
	{"a cancel by another goroutine ends a waiting owner's receive", testLendCancel},
	{"a cancel by another goroutine ends a receive that waits for a buffer", testLendCancelStarved},
	{"a close by another goroutine closes, and frees the number", testLendClose},
	{"the carrier of an operation is the descriptor's reactor or the runner's", testLendCarrier},
}

func testLendRelease(t *testing.T, b Backend) {
	for range 3 {
		l, ends, want := starved(t, b, 8)
		var kept []buffer
		for _, e := range ends {
			kept = append(kept, e.kept...)
			e.kept, e.keep = nil, false
		}
		released := inBackground(func() error {
			for _, k := range kept {
				l.r.Release(k.Buffer)
			}
			return nil
		})
		l.until("all data", func() bool { return received(ends) == len(ends)*len(want[0]) })
		require.NoError(t, <-released)
		for i, e := range ends {
			requireSame(t, want[i], e.data)
		}
		l.close()
	}
}

// lendCancel cancels the endpoint's receive on another goroutine, and waits for its end.
func (e *endpoint) lendCancel() {
	e.l.t.Helper()
	e.stopping[reactor.Recv] = true
	op := reactor.Op{Kind: reactor.Cancel, Target: reactor.Recv, FD: e.fd, Token: e.token}
	canceled := inBackground(func() error { return e.l.r.Submit(&op) })
	e.l.until("the end", func() bool { return !e.flying[reactor.Recv] })
	require.NoError(e.l.t, <-canceled)
}

func testLendCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	for i := range 100 {
		e.recv()
		e.lendCancel()
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Recv))
		require.Len(t, e.ends[reactor.Recv], i+1)
	}
	e.recv()
	write(t, peer, "hello")
	l.until("data", func() bool { return string(e.data) == "hello" })
	l.idle()
}

func testLendCancelStarved(t *testing.T, b Backend) {
	l, ends, want := starved(t, b, 8)
	for _, e := range ends {
		e.lendCancel()
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Recv))
	}
	for _, e := range ends {
		e.recv()
	}
	l.feed(ends, want)
}

func testLendClose(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.settle()
	for i := range 50 {
		e, peer := l.pair("tcp")
		e.recv()
		e.send([]byte("last"))
		l.until("sent", func() bool { return !e.flying[reactor.Send] })
		read(t, peer, "last")
		e.stop(reactor.Recv)
		fd := e.fd
		ln := listen(t, "tcp")
		dialed := dialSocket(t, "tcp", ln.Addr()) // takes the next number
		e.fd = -1
		require.NoError(t, <-inBackground(func() error {
			return l.r.Submit(&reactor.Op{Kind: reactor.Close, FD: fd})
		}))
		requireEnded(t, peer)
		next := l.add(dupSocketAs(t, dialed, fd)) // this one takes the number that was closed
		closeSocket(dialed)
		next.recv()
		write(t, accept(t, ln), "to the next")
		l.until("data", func() bool { return string(next.data) == "to the next" })
		next.stop(reactor.Recv)
		next.close()
		require.Len(t, e.ends[reactor.Recv], 1, "round %d", i)
	}
}

func testLendCarrier(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	other, err := b.open(small)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	require.Same(t, l.r, l.r.Carrier(l.r))
	carrier := l.r.Carrier(other)
	if carrier == other {
		return // the carrier is the submitter's own reactor, which the rest of this suite covers
	}
	require.Same(t, l.r, carrier)
	for i := range 50 { // by other goroutines, while the owner waits
		e, peer := l.pair("tcp")
		shrink(t, e.fd)
		if i%2 == 0 {
			e.recv() // its promise is known already
			e.stop(reactor.Recv)
		}
		write(t, peer, "before")
		recv := reactor.Op{Kind: reactor.Recv, FD: e.fd, Token: e.token}
		send := reactor.Op{Kind: reactor.Send, FD: e.fd, Token: e.token, Buf: text(22, 2<<20)}
		e.flying[reactor.Recv], e.stopping[reactor.Recv] = true, false
		e.flying[reactor.Send], e.stopping[reactor.Send] = true, true // ends with the first piece
		e.unsent = send.Buf
		submitted := inBackground(func() error {
			for {
				if err := l.r.Submit(&send); err != nil {
					return err
				}
				if send.Sent == 0 { // blocked, at last
					return l.r.Submit(&recv)
				}
			}
		})
		l.until("data", func() bool { return string(e.data) == "before" })
		require.NoError(t, <-submitted)
		drained := inBackground(func() error { _, err := io.Copy(io.Discard, peer); return err })
		l.until("sent", func() bool { return !e.flying[reactor.Send] })
		if !l.faulty {
			require.Zero(t, e.errno(reactor.Send))
		}
		e.stop(reactor.Recv)
		e.close()
		require.NoError(t, <-drained)
	}
}
