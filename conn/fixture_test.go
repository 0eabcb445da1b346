package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A fixture is a group that listens, whose connections are audited.
type fixture struct {
	*conn.Group
	t     *testing.T
	addr  net.Addr
	log   *conntest.Log
	audit *audit
}

// newFixture makes a group that does not listen.
func newFixture(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, log: &conntest.Log{}, audit: &audit{}}
	cfg := conn.Config{Logger: f.log.Logger()}
	cfg.Reactor.Backend = backend
	for _, c := range configure {
		c(&cfg)
	}
	var err error
	f.Group, err = conn.NewGroup(cfg, sched.Config{Workers: workers})
	require.NoError(t, err)
	require.Equal(t, backend, f.Backend())
	conntest.Report(t, f.report)
	t.Cleanup(f.close)
	return f
}

// report is what Dump writes.
func (f *fixture) report() string { return reportOf(f.Group) }

func reportOf(g *conn.Group) string {
	var text strings.Builder
	_ = g.Dump(&text)
	return text.String()
}

// serve is a fixture that listens on the loopback interface.
func serve(t *testing.T, backend string, workers int, h conn.Handler, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	f := newFixture(t, backend, workers, configure...)
	f.listen("tcp", "127.0.0.1:0", h)
	return f
}

// listen listens until the end of the test.
func (f *fixture) listen(network, addr string, h conn.Handler) *conn.Listener {
	f.t.Helper()
	ln, err := net.Listen(network, addr)
	require.NoError(f.t, err)
	return f.listenOn(ln, h)
}

// listenOn is listen with a listener that exists.
func (f *fixture) listenOn(ln net.Listener, h conn.Handler) *conn.Listener {
	f.t.Helper()
	f.t.Cleanup(func() { _ = ln.Close() })
	l, err := f.Listen(ln, f.audit.of(h))
	require.NoError(f.t, err)
	f.addr = l.Addr()
	f.t.Cleanup(func() { _ = l.Close() })
	return l
}

// listenTo is listen for a handler that the audit does not wrap. Nobody else has the socket.
func (f *fixture) listenTo(h conn.Handler) *conn.Listener {
	f.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	l, err := f.Listen(ln, h)
	require.NoError(f.t, err)
	require.NoError(f.t, ln.Close())
	f.addr = l.Addr()
	f.t.Cleanup(func() { _ = l.Close() })
	return l
}

func (f *fixture) close() {
	f.Abort()
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	if err := f.Wait(ctx); err != nil {
		f.t.Errorf("waiting for the connections: %v\n%s", err, conntest.Dump())
	}
	require.Zero(f.t, f.Len())
	err := f.Group.Close()
	if conntest.Wine() && errors.Is(err, conn.ErrStuck) { // a busy Wine may run no thread for a second
		conntest.Receive(f.t, f.Runtime().Done())
		err = nil
	}
	require.NoError(f.t, err)
	f.audit.check(f.t)
}

// rounds makes every worker run a task that many times, and poll its reactor between two of them.
func (f *fixture) rounds(n int) {
	f.t.Helper()
	for range n {
		for worker := range f.Runtime().Workers() {
			ran := make(chan struct{})
			f.on(worker, func(*sched.Context) { close(ran) })
			conntest.Receive(f.t, ran)
		}
	}
}

// dial connects to the fixture. Reads and writes of the connection fail when a
// test has hung long enough.
func (f *fixture) dial() net.Conn {
	f.t.Helper()
	c, err := dial(f.addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

func dial(addr net.Addr) (net.Conn, error) {
	c, err := net.DialTimeout(addr.Network(), addr.String(), conntest.Patience)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(conntest.Patience))
	}
	return c, err
}

// each has n clients at once, and crowd so many at a time: each with a connection.
func (f *fixture) each(n int, client func(i int, c net.Conn) error) { f.crowd(n, n, client) }

func (f *fixture) crowd(n, atOnce int, client func(i int, c net.Conn) error) {
	f.t.Helper()
	conntest.Crowd(f.t, n, atOnce, func(i int) error {
		c, err := dial(f.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		return client(i, c)
	})
}

// reset closes a connection so that the other end sees a reset.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// read is the next n bytes.
func read(t *testing.T, c net.Conn, n int) []byte {
	t.Helper()
	p := make([]byte, n)
	got, err := io.ReadFull(c, p)
	if err != nil {
		t.Fatalf("read %d of %d bytes: %v\n%s", got, n, err, conntest.Dump())
	}
	return p
}

func write[T string | []byte](t *testing.T, c net.Conn, p T) {
	t.Helper()
	err := writeAll(c, []byte(p))
	require.NoError(t, err)
}

// readEOF is everything up to the peer's FIN.
func readEOF(t *testing.T, c net.Conn) []byte {
	t.Helper()
	p, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %d bytes\n%s", err, len(p), conntest.Dump())
	}
	return p
}

// funcs is a handler made of functions. Base's method replaces a nil one.
type funcs struct {
	open, data, eof, deadline, writable func(*conn.Conn) error
	drain                               func(*conn.Conn)
	close                               func(*conn.Conn, error)
}

func (h funcs) OnOpen(c *conn.Conn) error     { return or(h.open, conn.Base{}.OnOpen)(c) }
func (h funcs) OnData(c *conn.Conn) error     { return or(h.data, discard)(c) }
func (h funcs) OnEOF(c *conn.Conn) error      { return or(h.eof, conn.Base{}.OnEOF)(c) }
func (h funcs) OnDeadline(c *conn.Conn) error { return or(h.deadline, conn.Base{}.OnDeadline)(c) }

func (h funcs) OnWritable(c *conn.Conn) error { return or(h.writable, conn.Base{}.OnWritable)(c) }

func (h funcs) OnDrain(c *conn.Conn) {
	if h.drain == nil {
		h.drain = conn.Base{}.OnDrain
	}
	h.drain(c)
}

func (h funcs) OnClose(c *conn.Conn, err error) {
	if h.close != nil {
		h.close(c, err)
	}
}

func or(f, base func(*conn.Conn) error) func(*conn.Conn) error {
	if f != nil {
		return f
	}
	return base
}

func discard(c *conn.Conn) error {
	_, err := c.Discard(-1)
	return err
}

func echo(c *conn.Conn) error {
	p, _ := c.Next(-1)
	_, err := c.Write(p)
	return err
}

// An audit watches over the handlers of a test: whatever they do, OnOpen comes
// first and once, OnClose once and last, and no method runs inside another or
// beside another of the same connection.
type audit struct {
	conns  sync.Map // *conn.Conn: *life
	opened atomic.Int64
	closed atomic.Int64
	errs   sync.Map // violations
}

type life struct{ opens, closes, running atomic.Int32 }

func (a *audit) of(h conn.Handler) conn.Handler { return &audited{Handler: h, audit: a} }

func (a *audit) violation(format string, args ...any) {
	a.errs.LoadOrStore(fmt.Sprintf(format, args...), true)
}

func (a *audit) check(t *testing.T) {
	a.errs.Range(func(text, _ any) bool {
		t.Error(text)
		return true
	})
	a.conns.Range(func(_, l any) bool {
		if l := l.(*life); l.closes.Load() != 1 {
			t.Errorf("a connection had %d OnOpen and %d OnClose", l.opens.Load(), l.closes.Load())
		}
		return true
	})
}

type audited struct {
	conn.Handler
	audit *audit
}

// call enters a handler's method; what it returns leaves it.
func (a *audited) call(c *conn.Conn, method string) func() {
	v, _ := a.audit.conns.LoadOrStore(c, &life{})
	l := v.(*life)
	if n := l.running.Add(1); n != 1 {
		a.audit.violation("%s was called inside or beside another method", method)
	}
	switch method {
	case "OnOpen":
		if l.opens.Add(1) != 1 {
			a.audit.violation("OnOpen was called twice")
		}
		a.audit.opened.Add(1)
	case "OnClose":
		if l.closes.Add(1) != 1 {
			a.audit.violation("OnClose was called twice")
		}
		a.audit.closed.Add(1)
	default:
		if l.opens.Load() == 0 {
			a.audit.violation("%s was called before OnOpen", method)
		}
		if l.closes.Load() != 0 {
			a.audit.violation("%s was called after OnClose", method)
		}
	}
	return func() { l.running.Add(-1) }
}

func (a *audited) OnOpen(c *conn.Conn) error {
	defer a.call(c, "OnOpen")()
	return a.Handler.OnOpen(c)
}

func (a *audited) OnData(c *conn.Conn) error {
	defer a.call(c, "OnData")()
	return a.Handler.OnData(c)
}

func (a *audited) OnEOF(c *conn.Conn) error {
	defer a.call(c, "OnEOF")()
	return a.Handler.OnEOF(c)
}

func (a *audited) OnDeadline(c *conn.Conn) error {
	defer a.call(c, "OnDeadline")()
	return a.Handler.OnDeadline(c)
}

func (a *audited) OnWritable(c *conn.Conn) error {
	defer a.call(c, "OnWritable")()
	return a.Handler.OnWritable(c)
}

func (a *audited) OnDrain(c *conn.Conn) {
	defer a.call(c, "OnDrain")()
	a.Handler.OnDrain(c)
}

func (a *audited) OnClose(c *conn.Conn, err error) {
	defer a.call(c, "OnClose")()
	a.Handler.OnClose(c, err)
}

// ends is an OnClose that passes the error on.
func ends(n int) (chan error, func(*conn.Conn, error)) {
	ch := make(chan error, n)
	return ch, func(_ *conn.Conn, err error) { ch <- err }
}

// requireOpError checks that an error is as package net's are.
func requireOpError(t *testing.T, err error, op string, is ...error) {
	t.Helper()
	var oe *net.OpError
	require.ErrorAs(t, err, &oe)
	require.Equal(t, op, oe.Op)
	for _, target := range is {
		require.ErrorIs(t, conn.Portable(err), target) // Portable is for package net's, which tests compare with
	}
}

// writeAll goes on after a write of package net that Wine ends early, with nothing written.
func writeAll(c net.Conn, p []byte) error {
	for {
		n, err := c.Write(p)
		if !conntest.Wine() || !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		p = p[n:]
	}
}

// requireReset: err, of a read of the peer's, says that it was reset, or, where that is
// forgotten, not even that.
func requireReset(t *testing.T, err error) {
	t.Helper()
	if conntest.Wine() && (err == nil || err == io.EOF) {
		return
	}
	require.ErrorIs(t, conn.Portable(err), syscall.ECONNRESET)
}

// requireResetOnly checks that c is reset with nothing to read before: an end would look orderly.
func requireResetOnly(t *testing.T, c net.Conn) {
	t.Helper()
	p, err := io.ReadAll(c)
	require.Empty(t, p)
	requireReset(t, err)
}

var errTest = errors.New("the handler's own error")

// noise is random bytes to send pieces of; few offsets in it look alike.
var noise = func() []byte {
	p := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p)
	return p
}()

// piece is n bytes of noise from a random place.
func piece(r *rand.Rand, n int) []byte {
	at := r.IntN(len(noise) - n + 1)
	return noise[at : at+n]
}

// roundTrip sends p in random pieces to a server that echoes, and compares.
func roundTrip(c net.Conn, r *rand.Rand, p []byte) error {
	sent := make(chan error, 1)
	seed := r.Uint64()
	go func() {
		r := rand.New(rand.NewPCG(seed, 0))
		for rest := p; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1+r.IntN(64<<10)))
			if err := writeAll(c, rest[:n]); err != nil {
				sent <- err
				return
			}
			rest = rest[n:]
		}
		sent <- nil
	}()
	back := make([]byte, len(p))
	n, err := io.ReadFull(c, back)
	if err != nil {
		return fmt.Errorf("%d of %d bytes came back: %w", n, len(p), err)
	}
	if !bytes.Equal(p, back) {
		return fmt.Errorf("%d bytes came back changed", n)
	}
	return <-sent
}
