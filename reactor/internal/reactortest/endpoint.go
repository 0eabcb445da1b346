package reactortest

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

// An endpoint is a socket that the reactor serves, under one token.
type endpoint struct {
	l     *loop
	fd    int
	token reactor.Token

	flying   [reactor.Watch + 1]bool
	stopping [reactor.Watch + 1]bool // canceled: not to be armed again
	ends     [reactor.Watch + 1][]reactor.Completion

	data  []byte   // received
	kept  []buffer // not released yet, if keep
	keep  bool
	one   bool             // receives take one buffer at a time
	conns []int            // accepted; the code that empties it owns them
	peers []netip.AddrPort // of conns, as the backend reported

	packets []packet // received, of datagrams
	batch   *reactor.Batch
	failed  []reactor.Failure

	to      net.Addr // Connect
	unsent  []byte   // Send: the bytes in flight
	sent    int
	hangups int          // number of completions of Hangup
	edge    reactor.Edge // of a Watch, until the test forgets it
	told    int          // number of completions with an edge

	shorts int // number of sends that the kernel took in part
}

// A buffer is a received piece and a copy of its content when it arrived.
type buffer struct {
	reactor.Buffer
	was string
}

// add makes the socket an endpoint of the loop, which closes it in the end.
func (l *loop) add(fd int) *endpoint {
	e := l.addAs(fd, reactor.MakeToken(l.next, 1))
	l.next++
	return e
}

func (l *loop) addAs(fd int, token reactor.Token) *endpoint {
	l.t.Helper()
	require.NotContains(l.t, l.endpoints, token)
	e := &endpoint{l: l, fd: fd, token: token}
	l.endpoints[token] = e
	return e
}

func (e *endpoint) accept()   { e.start(reactor.Op{Kind: reactor.Accept}) }
func (e *endpoint) recvFrom() { e.start(reactor.Op{Kind: reactor.RecvFrom}) }

func (e *endpoint) sendTo(b *reactor.Batch) {
	e.l.t.Helper()
	e.batch = b
	e.start(reactor.Op{Kind: reactor.SendTo, Batch: b})
}

func (e *endpoint) recv() { e.start(reactor.Op{Kind: reactor.Recv, One: e.one}) }

// send sends all of p, in as many operations as necessary.
func (e *endpoint) send(p []byte) {
	e.l.t.Helper()
	e.unsent = p
	e.start(reactor.Op{Kind: reactor.Send, Buf: p})
}

func (e *endpoint) connect(to net.Addr) {
	e.l.t.Helper()
	e.to = to
	e.start(reactor.Op{Kind: reactor.Connect, Addr: to})
}

func (e *endpoint) start(op reactor.Op) {
	e.l.t.Helper()
	op.FD, op.Token = e.fd, e.token
	require.False(e.l.t, e.flying[op.Kind], "the test itself breaks the contract")
	e.flying[op.Kind], e.stopping[op.Kind] = true, false
	if sent := e.l.submit(op); sent > 0 { // known at once: processed like a completion
		c := reactor.Completion{Token: e.token, Kind: op.Kind, Res: sent}
		e.l.record(&c)
		require.Empty(e.l.t, e.breach(&c))
		e.take(&c)
	}
}

func (e *endpoint) cancel(k reactor.Kind) {
	e.l.t.Helper()
	e.stopping[k] = true
	e.l.submit(reactor.Op{Kind: reactor.Cancel, Target: k, FD: e.fd, Token: e.token})
}

// stop cancels the operation and waits for its end, which must come exactly once.
func (e *endpoint) stop(k reactor.Kind) {
	e.l.t.Helper()
	e.cancel(k)
	e.l.until(fmt.Sprintf("the end of a canceled %v", k), func() bool { return !e.flying[k] })
}

// close closes the socket through the reactor.
func (e *endpoint) close() {
	e.l.t.Helper()
	require.False(e.l.t, e.inFlight(), "the test itself breaks the contract")
	e.l.submit(reactor.Op{Kind: reactor.Close, FD: e.fd, Token: e.token})
	e.fd = -1
}

func (e *endpoint) inFlight() bool {
	for _, f := range e.flying {
		if f {
			return true
		}
	}
	return false
}

// errno returns the error of the last operation of the kind.
func (e *endpoint) errno(k reactor.Kind) syscall.Errno {
	if len(e.ends[k]) == 0 {
		return 0
	}
	return e.ends[k][len(e.ends[k])-1].Errno()
}

// eof reports that the stream has ended properly.
func (e *endpoint) eof() bool {
	n := len(e.ends[reactor.Recv])
	return n > 0 && e.ends[reactor.Recv][n-1].Res == 0
}

// breach describes how the completion breaks the contract, or returns "".
func (e *endpoint) breach(c *reactor.Completion) string {
	multishot := c.Kind == reactor.Hangup || c.Kind == reactor.Watch || c.Kind == reactor.Accept || c.Kind == reactor.Recv || c.Kind == reactor.RecvFrom
	switch {
	case c.Kind < reactor.Accept || c.Kind > reactor.Hangup && c.Kind != reactor.Watch:
		return "such operations have no completion"
	case !e.flying[c.Kind]:
		return "nothing like that is in flight"
	case c.More && (!multishot || c.Res < 0):
		return "this must be the last one"
	case c.Kind == reactor.Watch && (c.Res == 0 || c.Res > 0 && !c.More):
		return "an edge tells something, and is not the end"
	case c.Kind == reactor.Watch && c.Res > 0 && reactor.Edge(c.Res)&(reactor.EdgeIn|reactor.EdgeOut) == 0:
		return "an edge has a direction"
	case c.Kind == reactor.Connect && c.Res > 0:
		return "connecting yields nothing"
	case (c.Kind == reactor.Readable || c.Kind == reactor.Writable) && c.Res > 0:
		return "readiness is no number"
	case c.Kind == reactor.Send && (c.Res == 0 || c.Res > len(e.unsent)):
		return fmt.Sprintf("not a number of bytes out of %d", len(e.unsent))
	case c.Kind == reactor.Recv && c.Res == 0 && c.More:
		return "nothing can come after the end"
	case c.Kind == reactor.SendTo && c.Res != e.batch.Len():
		return fmt.Sprintf("of %d datagrams", e.batch.Len())
	case c.Kind == reactor.RecvFrom:
		return breachOfPacket(c)
	case len(c.Buf.Bytes) != 0 && c.Kind != reactor.Recv, c.Kind == reactor.Recv && len(c.Buf.Bytes) != max(0, c.Res):
		return fmt.Sprintf("with %d bytes", len(c.Buf.Bytes))
	}
	return ""
}

func (e *endpoint) take(c *reactor.Completion) {
	e.l.t.Helper()
	if passing(c) {
		e.flying[c.Kind] = false
		if !e.stopping[c.Kind] {
			e.l.again = true
			e.again(c.Kind)
			return
		}
		c.Res = -int(syscall.ECANCELED) // it had no result, and now never will
	}
	if !c.More {
		e.flying[c.Kind] = false
		e.ends[c.Kind] = append(e.ends[c.Kind], reactor.Completion{Token: c.Token, Kind: c.Kind, Res: c.Res})
	}
	switch c.Kind {
	case reactor.Accept:
		if c.Res >= 0 {
			requireModes(e.l.t, c.Res)
			e.conns = append(e.conns, c.Res)
			e.peers = append(e.peers, c.Peer)
		}
	case reactor.Recv:
		if c.Res > 0 {
			e.data = append(e.data, c.Buf.Bytes...)
			e.kept = append(e.kept, buffer{c.Buf, string(c.Buf.Bytes)})
			if !e.keep {
				e.release(len(e.kept))
			}
		}
	case reactor.Send:
		e.sent += max(0, c.Res)
		if c.Res >= 0 && c.Res < len(e.unsent) {
			e.shorts++
			if !e.stopping[reactor.Send] {
				e.send(e.unsent[c.Res:])
			}
		}
	case reactor.RecvFrom:
		e.takePacket(c)
	case reactor.SendTo:
		e.failed = append(e.failed, e.batch.Failed...)
	case reactor.Hangup:
		if c.Res == 0 {
			e.hangups++
		}
	case reactor.Watch:
		if c.Res > 0 {
			e.edge |= reactor.Edge(c.Res)
			e.told++
			e.l.told = append(e.l.told, e)
		}
	case reactor.Connect:
	}
	// As every user must: an operation that ended without a failure is armed again.
	again := c.Kind == reactor.Accept && c.Res >= 0 ||
		c.Kind == reactor.Recv && c.Res > 0 || c.Kind == reactor.RecvFrom && c.Res >= 0
	if again && !c.More && !e.stopping[c.Kind] {
		e.again(c.Kind)
	}
}

// passing reports whether an operation ended for a transient reason.
func passing(c *reactor.Completion) bool {
	switch c.Errno() {
	case syscall.EINTR, syscall.EAGAIN, syscall.ENOBUFS:
		return true
	case syscall.ECONNABORTED:
		return c.Kind == reactor.Accept
	}
	return false
}

// again submits an operation that has ended once more.
func (e *endpoint) again(k reactor.Kind) {
	e.l.t.Helper()
	e.l.rearmed = true
	e.start(reactor.Op{Kind: k, Buf: e.unsent, Addr: e.to, Batch: e.batch, One: k == reactor.Recv && e.one})
}

// release gives the oldest n buffers back. Until then their content must not have changed.
func (e *endpoint) release(n int) {
	e.l.t.Helper()
	for _, b := range e.kept[:n] {
		require.Equal(e.l.t, b.was, string(b.Bytes), "a buffer changed before its release")
		e.l.r.Release(b.Buffer)
	}
	e.kept = e.kept[n:]
}

func (e *endpoint) String() string {
	s := fmt.Sprintf("%d/%d fd %d:", e.token.Index(), e.token.Generation(), e.fd)
	for k, f := range e.flying {
		if f {
			s += fmt.Sprintf(" %v", reactor.Kind(k))
		}
	}
	return fmt.Sprintf("%s; accepted %d, received %d, keeps %d buffers, sent %d, %d in flight",
		s, len(e.conns), len(e.data), len(e.kept), e.sent, len(e.unsent))
}
