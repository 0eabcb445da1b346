package conn_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// closers are the ways in which somebody else than its goroutine ends the sending of a
// connection. When one of them returns the task may still have it to do.
var closers = map[string]func(conn.Handle) error{
	"Handle.Close":    conn.Handle.Close,
	"Conn.Close":      func(h conn.Handle) error { return h.Do(func(c *conn.Conn) { _ = c.Close() }) },
	"Conn.CloseWrite": func(h conn.Handle) error { return h.Do(func(c *conn.Conn) { _ = c.CloseWrite() }) },
}

// waitsLong lets Close wait until a slow test goes on.
func waitsLong(cfg *conn.Config) { cfg.LingerTimeout = conntest.Patience }

// A Write that finds its connection's end on the way is sent or fails: it does not
// return nil for bytes that are dropped.
func TestAWriteBehindACloseIsSent(t *testing.T) {
	for name, end := range closers {
		t.Run(name, func(t *testing.T) {
			onLenders(t, func(t *testing.T, f *fixture, l *lender) {
				c := f.dial()
				s, h := l.begin(t, c)
				at, resume := make(chan struct{}), make(chan struct{})
				require.NoError(t, h.Do(func(*conn.Conn) { close(at); <-resume }))
				conntest.Receive(t, at)
				require.NoError(t, h.Send([]byte("first."))) // so that the next has to wait for the task
				require.NoError(t, end(h))
				n, err := s.Write([]byte("second."))
				close(resume)
				want := "first."
				if err != nil {
					require.ErrorIs(t, err, net.ErrClosed)
					require.Zero(t, n)
				} else {
					want += "second."
				}
				require.Equal(t, want, string(readEOF(t, c)))
			}, waitsLong)
		})
	}
}

// Bytes written before the end are sent, though the task learns of them after the end.
func TestAWriteBesideACloseIsSent(t *testing.T) {
	for name, end := range map[string]func(*conn.Conn) error{
		"Close": (*conn.Conn).Close, "CloseWrite": (*conn.Conn).CloseWrite,
	} {
		t.Run(name, func(t *testing.T) {
			onLenders(t, func(t *testing.T, f *fixture, l *lender) {
				c := f.dial()
				s, h := l.begin(t, c)
				at, resume := make(chan struct{}), make(chan struct{})
				require.NoError(t, h.Do(func(c *conn.Conn) {
					_, err := c.Write([]byte("first."))
					if err == nil {
						err = c.Flush()
					}
					if err != nil {
						panic(err)
					}
					close(at)
					<-resume
					_ = end(c)
				}))
				conntest.Receive(t, at)
				require.NoError(t, h.Send([]byte("third."))) // so that the next has to wait for the task
				_, err := s.Write([]byte("second."))
				require.NoError(t, err)
				close(resume)
				got := string(readEOF(t, c))
				require.Equal(t, "first.second.", strings.Replace(got, "third.", "", 1), "Send promises less")
			}, waitsLong)
		})
	}
}

// As many bytes arrive as writes have counted, or more, wherever the end meets them.
func TestWritesThatMeetACloseLoseNothing(t *testing.T) {
	for name, end := range closers {
		t.Run(name, func(t *testing.T) {
			onLenders(t, func(t *testing.T, f *fixture, l *lender) {
				for i := range 8 { // of each, the lender tells that it is closed
					c := f.dial()
					s, h := l.begin(t, c)
					counted := make(chan int, 1)
					go func() { counted <- writeToTheEnd(s, 1+i*9973%(90<<10)) }()
					got := read(t, c, 1+i*29989%(200<<10))
					require.NoError(t, end(h))
					rest := readEOF(t, c)
					n := conntest.Receive(t, counted)
					require.GreaterOrEqual(t, len(got)+len(rest), n, "of connection %d", i)
					_ = s.Close()
					require.NoError(t, c.Close())
				}
			}, waitsLong)
		})
	}
}

// writeToTheEnd writes pieces until that fails, and counts what it was told is written.
func writeToTheEnd(s *conn.Socket, piece int) (n int) {
	for {
		m, err := s.Write(noise[:piece])
		if err != nil {
			return n
		}
		n += m
	}
}
