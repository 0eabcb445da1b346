package reactortest

import (
	"fmt"
	"net"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

const (
	in    = reactor.EdgeIn
	out   = reactor.EdgeOut
	ended = reactor.EdgeEnd
	erred = reactor.EdgeError
)

func (e *endpoint) watch() { e.l.t.Helper(); e.start(reactor.Op{Kind: reactor.Watch}) }

// watchIn starts a Watch for input alone.
func (e *endpoint) watchIn() {
	e.l.t.Helper()
	e.start(reactor.Op{Kind: reactor.Watch, Edge: in})
}

// watched is pairs with a Watch of each.
func (l *loop) watched(network string, n int) ([]*endpoint, []net.Conn) {
	l.t.Helper()
	ends, peers := l.pairs(network, n)
	for _, e := range ends {
		e.watch()
	}
	return ends, peers
}

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
	e.forget(out)
	return e.fillWhile(func() bool {
		e.rewatch(out)
		e.l.settle()
		defer e.forget(out)
		return e.edge&out != 0
	})
}

// stopWatch cancels the Watch, which must end with ECANCELED.
func (e *endpoint) stopWatch() {
	e.l.t.Helper()
	e.stop(reactor.Watch)
	require.Equal(e.l.t, syscall.ECANCELED, e.errno(reactor.Watch))
}

// canceling is the Cancel of the Watch. The caller submits it.
func (e *endpoint) canceling() reactor.Op {
	e.stopping[reactor.Watch] = true
	return reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, FD: e.fd, Token: e.token}
}

// cancelFormer cancels the Watch of a former generation, which must have no effect.
func (e *endpoint) cancelFormer() {
	e.l.t.Helper()
	former := reactor.MakeToken(e.token.Index(), 0)
	e.l.submit(reactor.Op{Kind: reactor.Cancel, Target: reactor.Watch, FD: e.fd, Token: former})
}

// closing is the Close of the descriptor of a Watch. The caller submits it.
func (e *endpoint) closing() reactor.Op {
	e.stopping[reactor.Watch] = true
	op := reactor.Op{Kind: reactor.Close, Target: reactor.Watch, FD: e.fd, Token: e.token}
	e.fd = -1
	return op
}

// closeWatched closes the descriptor of a Watch, which must end.
func (e *endpoint) closeWatched() { e.l.t.Helper(); e.l.submit(e.closing()) }

// submitElsewhere submits the operation from another goroutine.
func (l *loop) submitElsewhere(op reactor.Op) {
	l.t.Helper()
	require.NoError(l.t, <-inBackground(func() error { return l.r.Submit(&op) }))
}

// awaitEnd waits until the Watch has ended.
func (e *endpoint) awaitEnd() {
	e.l.t.Helper()
	e.l.until("the end of a watch", func() bool { return !e.flying[reactor.Watch] })
}

func (l *loop) awaitEnds(ends []*endpoint) {
	l.t.Helper()
	l.until("the ends of the watches", func() bool { return !flying(ends, reactor.Watch) })
}

// awaitCanceled waits until the Watch has ended with ECANCELED, once.
func (e *endpoint) awaitCanceled() {
	e.l.t.Helper()
	e.awaitEnd()
	require.Equal(e.l.t, syscall.ECANCELED, e.errno(reactor.Watch))
	require.Len(e.l.t, e.ends[reactor.Watch], 1)
}
