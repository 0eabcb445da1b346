package conn_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A proxy splices each connection that it accepts with one that it dials. It is what
// a program would be that relays a port.
type proxy struct {
	*fixture
	origin net.Listener
	to     atomic.Value // where it dials: a *net.TCPAddr, at first that of origin
	early  atomic.Bool  // it splices while it still dials
	late   atomic.Bool  // it splices only when the test calls begin

	mu      sync.Mutex
	spliced []*conn.Spliced
	causes  []error  // of OnClose, of either side
	ends    []string // the first of them with their addresses, for the report of a failure
	done    atomic.Int64
	opened  atomic.Int64
	refused atomic.Int64 // splices
	workers sync.Map     // handle of the accepted one: worker of the dialed one
	waiting sync.Map     // handle of the accepted one, until they are spliced: handle of the dialed one
}

func newProxy(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) *proxy {
	t.Helper()
	origin := conntest.Listen(t)
	p := &proxy{origin: origin}
	p.to.Store(origin.Addr())
	t.Cleanup(func() { p.explain(t) })
	p.fixture = newFixture(t, backend, workers, configure...)
	p.listen("tcp", "127.0.0.1:0", p.handler())
	return p
}

// handler is that of what the proxy accepts.
func (p *proxy) handler() conn.Handler {
	return funcs{open: p.open, data: leave, eof: ignore, close: p.closed}
}

// leave leaves received bytes for the splice. It pauses reading, since a connection with MaxRead
// bytes unread ends.
func leave(c *conn.Conn) error { return c.PauseRead() }

func ignore(*conn.Conn) error { return nil }

// closed ends the dialed one, too, if it was not spliced yet: what it has asked the accepted one to
// do will not be done.
func (p *proxy) closed(c *conn.Conn, err error) {
	if b, ok := p.waiting.LoadAndDelete(c.Handle()); ok {
		_ = b.(conn.Handle).Abort()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.causes = append(p.causes, err)
	p.note("%v to %v ended: %v", c.LocalAddr(), c.RemoteAddr(), err)
}

// note keeps a line for explain. The mutex is held.
func (p *proxy) note(format string, args ...any) {
	if len(p.ends) < 20 {
		p.ends = append(p.ends, fmt.Sprintf(format, args...))
	}
}

// explain logs, after a failure, why connections ended and splices were refused.
func (p *proxy) explain(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Failed() {
		for _, line := range p.ends {
			t.Log(line)
		}
	}
}

// open dials; bytes that arrive meanwhile stay unread.
func (p *proxy) open(a *conn.Conn) error {
	h := a.Handle()
	failed := func(b *conn.Conn, err error) {
		p.closed(b, err)
		_ = h.Do(func(a *conn.Conn) { // once open has returned
			if _, ok := p.waiting.LoadAndDelete(h); ok {
				a.Abort()
			}
		})
	}
	b, err := a.Dial(p.to.Load().(net.Addr), p.audit.of(funcs{data: leave, eof: ignore, close: failed, open: func(b *conn.Conn) error {
		p.workers.Store(h, b.Worker())
		p.opened.Add(1)
		if p.early.Load() || p.late.Load() {
			return nil
		}
		p.begin(h, b.Handle())
		return nil
	}}))
	if err != nil {
		return err
	}
	p.waiting.Store(h, b) // before a's task does what b asks it to
	if p.early.Load() {
		p.splice(a, b)
	}
	return nil
}

// begin has a's task splice the two, or resets b.
func (p *proxy) begin(a, b conn.Handle) {
	if a.Do(func(a *conn.Conn) { p.splice(a, b) }) != nil {
		_ = b.Abort()
	}
}

func (p *proxy) splice(a *conn.Conn, b conn.Handle) {
	p.waiting.Delete(a.Handle())
	s, err := conn.Splice(a, b, func(*conn.Spliced) { p.done.Add(1) })
	if err != nil {
		a.Abort()
		_ = b.Abort()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.refused.Add(1)
		p.note("%v to %v was not spliced: %v", a.LocalAddr(), a.RemoteAddr(), err)
		return
	}
	p.spliced = append(p.spliced, s)
}

// accept is the origin's end of the next connection.
func (p *proxy) accept() (net.Conn, error) {
	_ = p.origin.(*net.TCPListener).SetDeadline(time.Now().Add(conntest.Patience))
	c, err := p.origin.Accept()
	if err == nil {
		err = c.SetDeadline(time.Now().Add(conntest.Patience))
	}
	return c, err
}

// pair is a client, and the origin's end of its connection.
func (p *proxy) pair() (client, origin *net.TCPConn) {
	p.t.Helper()
	c := p.dial()
	o, err := p.accept()
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = o.Close() })
	return c.(*net.TCPConn), o.(*net.TCPConn)
}

// splices holds all splices so far; n of them are awaited.
func (p *proxy) splices(n int) []*conn.Spliced {
	p.t.Helper()
	conntest.Eventually(p.t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.spliced) >= n
	}, "spliced")
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*conn.Spliced(nil), p.spliced...)
}

// ended waits until so many splices are over, and returns the errors of their
// connections.
func (p *proxy) ended(n int) []error {
	p.t.Helper()
	conntest.Eventually(p.t, func() bool { return p.done.Load() == int64(n) && p.Len() == 0 },
		func() string { return fmt.Sprintf("%d of %d are over", p.done.Load(), n) })
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Len(p.t, p.causes, 2*n)
	return append([]error(nil), p.causes...)
}

// A pattern is bytes that can be made and checked piece by piece, without end. No two
// seeds look alike, nor do places that are near each other.
type pattern struct{ at int }

func newPattern(seed uint64) *pattern { return &pattern{at: int(seed*104729) % len(noise)} }

// next is up to n bytes.
func (s *pattern) next(n int) []byte {
	p := noise[s.at:min(len(noise), s.at+n)]
	if s.at += len(p); s.at == len(noise) {
		s.at = 12347
	}
	return p
}

func (s *pattern) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], s.next(len(p)-n))
	}
	return n, nil
}

// Write checks that p has the next expected bytes.
func (s *pattern) Write(p []byte) (n int, err error) {
	for n < len(p) {
		want := s.next(len(p) - n)
		if !bytes.Equal(want, p[n:n+len(want)]) {
			return n, fmt.Errorf("other bytes than were sent, %d into a piece of %d", n, len(p))
		}
		n += len(want)
	}
	return n, nil
}

// speak writes n bytes of the pattern in pieces, with pauses now and then, then a FIN.
func speak(c *net.TCPConn, seed uint64, n int, pauses bool) error {
	s, r := newPattern(seed), rand.New(rand.NewPCG(seed, 1))
	buf := make([]byte, 256<<10)
	for n > 0 {
		p := buf[:min(n, 1+r.IntN(1+r.IntN(len(buf))))]
		_, _ = s.Read(p)
		if err := writeAll(c, p); err != nil {
			return err
		}
		n -= len(p)
		if pauses && r.IntN(8) == 0 {
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond) // to vary which end waits for the other
		}
	}
	return c.CloseWrite()
}

// hear checks that exactly n bytes of the pattern come, then a FIN.
func hear(c *net.TCPConn, seed uint64, n int, pauses bool) error {
	s, r := newPattern(seed), rand.New(rand.NewPCG(seed, 2))
	buf := make([]byte, 256<<10)
	got := 0
	for {
		m, err := c.Read(buf[:1+r.IntN(len(buf))])
		if _, werr := s.Write(buf[:m]); werr != nil {
			return fmt.Errorf("after %d bytes: %w", got, werr)
		}
		got += m
		switch {
		case err == io.EOF && got == n:
			return nil
		case err != nil:
			return fmt.Errorf("%d of %d bytes: %w", got, n, err)
		}
		if pauses && r.IntN(8) == 0 {
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
		}
	}
}

// together runs all of them at once and returns the first error.
func together(t *testing.T, all ...func() error) {
	t.Helper()
	conntest.Each(t, len(all), func(i int) error { return all[i]() })
}
