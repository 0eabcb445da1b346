package conn_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// arriving is how many bytes arrive after the first request.
const arriving = 40 << 10

// arrivesDuringADrain begins a request of one byte, and while its handler works sends more and
// begins the shutdown. begun is sent to by the handler, which waits for c.Draining then.
func arrivesDuringADrain(t *testing.T, f *fixture, c net.Conn, begun chan bool) {
	t.Helper()
	more := bytes.Repeat([]byte("b"), arriving)
	write(t, c, "a")
	conntest.Receive(t, begun)
	write(t, c, string(more))
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	go func() { ended <- f.Shutdown(ctx) }()
	require.Equal(t, "a"+string(more), string(readEOF(t, c)))
	_ = c.Close()
	require.NoError(t, conntest.Receive(t, ended))
}

// works is a request in progress, until the server shuts down.
func works(c *conn.Conn, begun chan bool) {
	select {
	case begun <- true:
	default:
		return
	}
	for !c.Draining() {
		time.Sleep(time.Millisecond)
	}
}

func TestWhatHasArrivedAtAShutdownIsGivenToTheHandlerBeforeTheEnd(t *testing.T) {
	echo := func(_ *fixture, begun chan bool) conn.Handler {
		return funcs{data: func(c *conn.Conn) error {
			works(c, begun)
			p, _ := c.Next(-1)
			_, err := c.Write(p)
			return err
		}}
	}
	for name, handler := range map[string]func(f *fixture, begun chan bool) conn.Handler{
		"callbacks": echo,
		"by pieces": func(_ *fixture, begun chan bool) conn.Handler { // more is unread than it takes in one call
			return funcs{data: func(c *conn.Conn) error {
				works(c, begun)
				for c.Buffered() > 0 {
					p, _ := c.Next(min(c.Buffered(), 100))
					if _, err := c.Write(p); err != nil {
						return err
					}
				}
				return nil
			}}
		},
		"paused": func(_ *fixture, begun chan bool) conn.Handler { // as a handler does that asks a database
			return funcs{data: func(c *conn.Conn) error {
				if err := c.PauseRead(); err != nil {
					return err
				}
				p, _ := c.Next(-1)
				p, h := bytes.Clone(p), c.Handle()
				select {
				case begun <- true:
				default:
				}
				go func() {
					for draining := false; !draining; {
						got := make(chan bool, 1)
						if h.Do(func(c *conn.Conn) { got <- c.Draining() }) != nil {
							return
						}
						draining = <-got
					}
					_ = h.Do(func(c *conn.Conn) {
						_, _ = c.Write(p)
						_ = c.ResumeRead()
					})
				}()
				return nil
			}}
		},
		"passed on": func(f *fixture, begun chan bool) conn.Handler { // the new handler ends the connection itself
			last := funcs{drain: func(*conn.Conn) {}}
			var all []byte
			last.data = func(c *conn.Conn) error {
				p, _ := c.Next(-1)
				all = append(all, p...)
				if h := c.Handle(); len(all) == arriving {
					go func() {
						_ = h.Do(func(c *conn.Conn) {
							_, _ = c.Write(all)
							_ = c.Close()
						})
					}()
				}
				return nil
			}
			return funcs{data: func(c *conn.Conn) error {
				if !c.Draining() {
					works(c, begun)
					p, _ := c.Next(1)
					_, err := c.Write(p)
					return err
				}
				return c.SetHandler(f.audit.of(last))
			}}
		},
		"sequential": func(_ *fixture, begun chan bool) conn.Handler {
			return conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
				p := make([]byte, 1000)
				for {
					n, err := s.Read(p)
					if err != nil {
						if err == io.EOF {
							err = nil
						}
						return err
					}
					select {
					case begun <- true:
						for !cx.Draining().IsCanceled() {
							time.Sleep(time.Millisecond)
						}
					default:
					}
					if _, err := s.Write(p[:n]); err != nil {
						return err
					}
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				begun := make(chan bool, 1)
				f := newFixture(t, backend, workers)
				f.listen("tcp", "127.0.0.1:0", handler(f, begun))
				arrivesDuringADrain(t, f, f.dial(), begun)
			})
		})
	}
	t.Run("TLS", func(t *testing.T) {
		secret := newSecret(t)
		conntest.Backends(t, func(t *testing.T, backend string) {
			begun := make(chan bool, 1)
			f := covered(t, backend, 2, secret.server, echo(nil, begun))
			arrivesDuringADrain(t, f, tls.Client(f.dial(), secret.client), begun)
		})
	})
}
