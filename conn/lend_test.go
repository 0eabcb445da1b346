package conn_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A lender lends a connection with its first bytes, and reports later events.
type lender struct {
	conn.Base
	lent   chan *conn.Socket
	handle chan conn.Handle
	told   chan string
}

func newLender() *lender {
	return &lender{lent: make(chan *conn.Socket, 10), handle: make(chan conn.Handle, 10), told: make(chan string, 10)}
}

func (l *lender) OnData(c *conn.Conn) error {
	if p, _ := c.Peek(-1); string(p) == "lend" {
		l.handle <- c.Handle()
		l.lent <- c.Lend()
		return nil
	}
	p, _ := c.Next(-1)
	l.told <- "data " + string(p)
	return nil
}

func (l *lender) OnEOF(*conn.Conn) error { l.told <- "end"; return nil }

func (l *lender) OnDrain(c *conn.Conn) {
	if c.Lent() {
		l.told <- "drain, lent"
	} else {
		l.told <- "drain"
	}
}

func (l *lender) OnClose(_ *conn.Conn, err error) {
	if err != nil {
		l.told <- "closed by an error"
	} else {
		l.told <- "closed"
	}
}

func onLenders(t *testing.T, test func(t *testing.T, f *fixture, l *lender), configure ...func(*conn.Config)) {
	short := func(cfg *conn.Config) { cfg.LingerTimeout = 2 * time.Second }
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, append([]func(*conn.Config){short}, configure...)...)
		l := newLender()
		f.listenTo(l)
		test(t, f, l)
	})
}

func (l *lender) begin(t *testing.T, c net.Conn) (*conn.Socket, conn.Handle) {
	t.Helper()
	write(t, c, "lend")
	s, h := conntest.Receive(t, l.lent), conntest.Receive(t, l.handle)
	require.Equal(t, "lend", string(read(t, s, 4)), "what was unread is the socket's")
	return s, h
}

func (l *lender) requireTold(t *testing.T, all ...string) {
	t.Helper()
	for _, want := range all {
		require.Equal(t, want, conntest.Receive(t, l.told))
	}
}

func TestALentConnectionComesAndGoes(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		c := f.dial()
		for range 50 {
			s, _ := l.begin(t, c)
			write(t, s, "answer")
			require.Equal(t, "answer", string(read(t, c, 6)))
			require.True(t, s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil }))
			require.False(t, s.Return(nil), "once")
			l.requireTold(t, "returned")
			_, err := s.Read(make([]byte, 1))
			requireOpError(t, err, "read", net.ErrClosed)
			_, err = s.Write([]byte("x"))
			requireOpError(t, err, "write", net.ErrClosed)
			requireOpError(t, s.Close(), "close", net.ErrClosed)
			write(t, c, "more")
			l.requireTold(t, "data more")
		}
		f.Drain()
		l.requireTold(t, "drain")
		require.NoError(t, c.Close())
		l.requireTold(t, "end")
	})
}

func TestReturnIsRefusedWhileThereIsSomethingToRead(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		c := f.dial()
		s, _ := l.begin(t, c)
		write(t, c, "unread")
		conntest.Eventually(t, func() bool { return s.Buffered() == 6 })
		require.False(t, s.Return(nil))
		require.Equal(t, "unread", string(read(t, s, 6)))

		reading := make(chan error, 1)
		go func() { _, err := s.Read(make([]byte, 1)); reading <- err }()
		require.NoError(t, s.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		for len(reading) == 0 {
			if s.Return(func(c *conn.Conn) error { l.told <- "returned"; return nil }) {
				break
			}
		}
		require.Error(t, conntest.Receive(t, reading), "it came to its end, or had not begun")

		c = f.dial()
		s, _ = l.begin(t, c)
		f.Drain()
		for range 2 { // of the other connection too
			require.Contains(t, []string{"drain", "drain, lent", "returned"}, conntest.Receive(t, l.told))
		}
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Empty(t, readEOF(t, s))
		require.False(t, s.Return(nil), "the end has come")
		require.NoError(t, s.Close())
		require.Empty(t, readEOF(t, c))
	})
}

// Bytes may arrive after Return has decided, and the task may deal with them before the lender has
// the connection back. They are the lender's. It takes two workers: one takes the completion for a
// task while the other one runs it.
func TestWhatArrivesOnTheWayBackIsTheLenders(t *testing.T) {
	for name, c := range map[string]struct {
		send string
		end  bool
		want []string
	}{
		"nothing":       {"", false, []string{"returned"}},
		"bytes":         {"bytes", false, []string{"returned", "data bytes"}},
		"end":           {"", true, []string{"returned", "end"}},
		"bytes and end": {"bytes", true, []string{"returned", "data bytes", "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			onLenders(t, func(t *testing.T, f *fixture, l *lender) {
				peer := f.dial()
				s, h := l.begin(t, peer)
				f.rounds(2) // io_uring: the receive is submitted, not in the ring of a worker that is stuck
				busy, release, ok := make(chan bool), make(chan bool), make(chan bool, 1)
				require.NoError(t, h.Do(func(*conn.Conn) { close(busy); <-release }))
				conntest.Receive(t, busy)
				require.NoError(t, h.Do(func(*conn.Conn) {
					ok <- s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil })
				}))
				write(t, peer, c.send)
				if c.end {
					require.NoError(t, peer.(*net.TCPConn).CloseWrite())
				}
				conntest.Eventually(t, func() bool {
					data, end, again := h.Arrived()
					return data == (c.send != "") && (end == c.end || again)
				})
				close(release)
				require.True(t, conntest.Receive(t, ok))
				l.requireTold(t, c.want...)
				if !c.end {
					require.NoError(t, peer.(*net.TCPConn).CloseWrite())
					l.requireTold(t, "end")
				}
			})
		})
	}
}

func TestAConnectionThatEndsOnTheWayBackIsClosedOnce(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		s, h := l.begin(t, f.dial())
		require.NoError(t, h.Do(func(c *conn.Conn) {
			if !s.Return(func(*conn.Conn) error { l.told <- "returned"; return nil }) {
				t.Error("it has not returned")
			}
			c.Abort()
		}))
		l.requireTold(t, "closed by an error")
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Empty(t, l.told)

		s, _ = l.begin(t, f.dial()) // for good: the lender's OnClose is still called once
		require.NoError(t, s.SetLinger(0))
		require.NoError(t, s.Close())
		l.requireTold(t, "closed by an error")
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Empty(t, l.told)
	})
}

func TestAConnectionIsLentOnce(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		_, h := l.begin(t, f.dial())
		got := make(chan *conn.Socket, 2)
		require.NoError(t, h.Do(func(c *conn.Conn) {
			got <- c.Lend()
			_ = c.Close()
			got <- c.Lend()
		}))
		require.Nil(t, conntest.Receive(t, got))
		require.Nil(t, conntest.Receive(t, got))
	})
}

// Bytes that come after a Handle's Close are dropped, so the reader of a lent connection must not
// take the end for the peer's: it would take a cut message for a whole one.
func TestTheEndAfterAHandlesCloseIsNotThePeers(t *testing.T) {
	onLenders(t, func(t *testing.T, f *fixture, l *lender) {
		c := f.dial()
		s, handle := l.begin(t, c)
		require.NoError(t, handle.Close())
		require.Empty(t, readEOF(t, c))
		write(t, c, "too late")
		require.NoError(t, c.Close())
		_, err := s.Read(make([]byte, 10))
		requireOpError(t, err, "read", net.ErrClosed)
		l.requireTold(t, "closed")
	})
}
