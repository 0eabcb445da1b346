//go:build race

package conn_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A baton is a variable that the side with the turn changes: the turn goes to and fro through a
// connection, and nothing else orders the accesses. So the race detector reports a race for
// every path through which bytes go without an edge.
type baton struct {
	turns int
	size  int // of the message that passes the turn
}

const batonRounds = 20

// drive is the side that begins.
func (b *baton) drive(t *testing.T, c io.ReadWriter) {
	t.Helper()
	p := make([]byte, b.size)
	for range batonRounds {
		b.turns++
		_, err := c.Write(p)
		require.NoError(t, err)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
	}
	b.turns++
	require.Equal(t, 2*batonRounds+1, b.turns)
}

// answer is the other side, where goroutines or coroutines read.
func (b *baton) answer(c io.ReadWriter) error {
	p := make([]byte, b.size)
	for {
		if _, err := io.ReadFull(c, p); err != nil {
			return nil
		}
		b.turns++
		if _, err := c.Write(p); err != nil {
			return err
		}
	}
}

// handler is the other side with callbacks.
func (b *baton) handler() funcs {
	return funcs{data: func(c *conn.Conn) error {
		if c.Buffered() < b.size {
			return nil
		}
		p, _ := c.Next(b.size)
		b.turns++
		_, err := c.Write(p)
		return err
	}}
}

// onBatons runs a test for small messages and for those that are sent and read directly.
func onBatons(t *testing.T, test func(t *testing.T, backend string, b *baton)) {
	for name, size := range map[string]int{"small": 1, "large": 200_000} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) { test(t, backend, &baton{size: size}) })
		})
	}
}

func TestCallbacksAreOrderedByTheirConnection(t *testing.T) {
	onBatons(t, func(t *testing.T, backend string, b *baton) {
		f := newFixture(t, backend, 2)
		l := f.listenTo(b.handler())
		c, err := dial(l.Addr())
		require.NoError(t, err)
		defer c.Close()
		b.drive(t, c)
	})
}

func TestStreamsAreOrderedByTheirConnection(t *testing.T) {
	onBatons(t, func(t *testing.T, backend string, b *baton) {
		f := sequential(t, backend, 2, func(_ *sched.Context, s *conn.Stream) error { return b.answer(s) })
		b.drive(t, f.dial())
	})
}

// Both ends are sockets, of different groups, or one is package net's.
func TestSocketsAreOrderedByTheirConnection(t *testing.T) {
	onBatons(t, func(t *testing.T, backend string, b *baton) {
		l := newFixture(t, backend, 1).open("tcp", conn.SocketListenerConfig{})
		dials := newFixture(t, backend, 1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { _ = b.answer(c); _ = c.Close() }()
			}
		}()
		theirs, err := dial(l.Addr())
		require.NoError(t, err)
		b.drive(t, theirs)
		require.NoError(t, theirs.Close())

		b.turns = 0
		ours, err := dials.DialSocketContext(t.Context(), l.Addr())
		require.NoError(t, err)
		b.drive(t, ours)
		require.NoError(t, ours.Close())
	})
}

// passOn splices each connection with one to the same address.
type passOn struct {
	conn.Base
	to net.Addr
}

func (h passOn) OnOpen(c *conn.Conn) error {
	b, err := c.Dial(h.to, funcs{})
	if err != nil {
		return err
	}
	_, err = conn.Splice(c, b, func(*conn.Spliced) {})
	return err
}

func (passOn) OnData(*conn.Conn) error { return nil }

func TestTheEndsOfASpliceAreOrderedByIt(t *testing.T) {
	onBatons(t, func(t *testing.T, backend string, b *baton) {
		l := newFixture(t, backend, 1).open("tcp", conn.SocketListenerConfig{})
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = b.answer(c)
			_ = c.Close()
		}()
		between, dials := newFixture(t, backend, 1), newFixture(t, backend, 1)
		ln := conntest.Listen(t)
		r, err := between.Listen(ln, passOn{to: l.Addr()})
		require.NoError(t, err)
		defer r.Close()
		c, err := dials.DialSocketContext(t.Context(), r.Addr())
		require.NoError(t, err)
		b.drive(t, c)
		require.NoError(t, c.Close())
	})
}
