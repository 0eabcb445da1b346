package conn_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The audit of every test sees to "one OnClose, no re-entry".
func TestCloseInEveryCallbackEndsTheConnectionOnce(t *testing.T) {
	end := map[string]func(*conn.Conn) error{
		"Close":        (*conn.Conn).Close,
		"Abort":        func(c *conn.Conn) error { c.Abort(); return nil },
		"Handle.Close": func(c *conn.Conn) error { return c.Handle().Close() },
		"Handle.Abort": func(c *conn.Conn) error { return c.Handle().Abort() },
		"an error":     func(*conn.Conn) error { return errTest },
		"Close twice": func(c *conn.Conn) error {
			err := c.Close()
			if again := c.Close(); !errors.Is(again, net.ErrClosed) {
				return fmt.Errorf("the second Close returned %w", again)
			}
			return err
		},
		"Close, then Abort": func(c *conn.Conn) error { err := c.Close(); c.Abort(); return err },
		"Abort, then Close": func(c *conn.Conn) error { c.Abort(); _ = c.Close(); return nil },
	}
	places := map[string]func(f func(*conn.Conn) error) funcs{
		"OnOpen": func(f func(*conn.Conn) error) funcs { return funcs{open: f} },
		"OnData": func(f func(*conn.Conn) error) funcs { return funcs{data: f} },
		"OnEOF":  func(f func(*conn.Conn) error) funcs { return funcs{eof: f} },
		"OnDeadline": func(f func(*conn.Conn) error) funcs {
			return funcs{deadline: f, data: func(c *conn.Conn) error { return c.SetReadDeadline(c.Now()) }}
		},
		"NotifySent": func(f func(*conn.Conn) error) funcs {
			return funcs{data: func(c *conn.Conn) error {
				c.NotifySent(func(error) { _ = f(c) })
				_, err := c.WriteString("x")
				return err
			}}
		},
		"Do": func(f func(*conn.Conn) error) funcs {
			return funcs{data: func(c *conn.Conn) error { return c.Handle().Do(func(c *conn.Conn) { _ = f(c) }) }}
		},
		"OnClose": func(f func(*conn.Conn) error) funcs {
			return funcs{close: func(c *conn.Conn, _ error) { _ = f(c) }}
		},
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for place, in := range places {
			for name, how := range end {
				if name == "an error" && (place == "NotifySent" || place == "Do" || place == "OnClose") {
					continue // these cannot return one
				}
				t.Run(name+" in "+place, func(t *testing.T) {
					h := in(how)
					closed, tell := ends(2)
					inner := h.close
					h.close = func(c *conn.Conn, err error) {
						if inner != nil {
							inner(c, err)
						}
						tell(c, err)
					}
					f := serve(t, backend, 2, h)
					if c, err := dial(f.addr); err == nil { // the server may be that fast
						defer c.Close()
						_, _ = c.Write([]byte("x"))
						if place == "OnEOF" || place == "OnClose" {
							_ = c.(*net.TCPConn).CloseWrite()
						}
						_, _ = io.Copy(io.Discard, c)
						_ = c.Close()
					}
					err := conntest.Receive(t, closed)
					if name == "an error" {
						require.Equal(t, errTest, err)
					} else if place != "OnClose" && (name == "Abort" || name == "Handle.Abort") {
						require.ErrorIs(t, err, net.ErrClosed)
					}
					conntest.Eventually(t, func() bool { return f.Len() == 0 })
				})
			}
		}
	})
}

func TestCloseDropsWhatStillArrivesSoThatTheResponseIsNotLost(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		var calls atomic.Int32
		f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
			calls.Add(1)
			if _, err := c.WriteString("no, thanks"); err != nil {
				return err
			}
			return c.Close() // the received bytes are unread, and more are on their way
		}})
		c := f.dial()
		for range 8 {
			write(t, c, noise[:24<<10]) // would fail with a reset; 192 KiB in all: see closebound_test.go
		}
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Equal(t, "no, thanks", string(readEOF(t, c)))
		require.NoError(t, conntest.Receive(t, closed))
		require.EqualValues(t, 1, calls.Load(), "OnData after Close")
	})
}

const shortLinger = 150 * time.Millisecond

// closer writes that much and closes, and notes when.
func closer(written int, at *atomic.Int64, tell func(*conn.Conn, error)) funcs {
	return funcs{close: tell, data: func(c *conn.Conn) error {
		if _, err := c.Write(make([]byte, written)); err != nil {
			return err
		}
		at.Store(time.Now().UnixNano())
		return c.Close()
	}}
}

func TestCloseResetsAPeerThatTakesNothingMore(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		var at atomic.Int64
		f := serve(t, backend, 2, closer(16<<20, &at, tell), func(cfg *conn.Config) { cfg.LingerTimeout = shortLinger })
		c := f.dial()
		write(t, c, "go")
		requireOpError(t, conntest.Receive(t, closed), "close", os.ErrDeadlineExceeded)
		require.GreaterOrEqual(t, time.Now().UnixNano()-at.Load(), int64(shortLinger), "early")
		_, err := io.Copy(io.Discard, c)
		requireReset(t, err)
	})
}

func TestCloseDoesNotWaitForEverForThePeersFIN(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		var at atomic.Int64
		f := serve(t, backend, 2, closer(100<<10, &at, tell), func(cfg *conn.Config) { cfg.LingerTimeout = shortLinger })
		c := f.dial()
		write(t, c, "go")
		require.NoError(t, conntest.Receive(t, closed))
		require.GreaterOrEqual(t, time.Now().UnixNano()-at.Load(), int64(shortLinger), "early")
		got, err := io.ReadAll(c) // the connection is over, and nothing that was sent is lost
		require.NoError(t, err)
		require.Len(t, got, 100<<10)
	})
}

// A slow reader is waited for as long as it reads, however long that is.
func TestCloseWaitsForAReaderThatGoesOn(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 4*shortLinger, func(linger time.Duration, alive func()) error {
			const written = 8 << 20
			closed, tell := ends(1)
			var at atomic.Int64
			f := serve(t, backend, 2, closer(written, &at, tell), func(cfg *conn.Config) { cfg.LingerTimeout = linger })
			c := f.dial()
			require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
			write(t, c, "go")
			conntest.Eventually(t, func() bool { return at.Load() != 0 }) // the pauses come after the close
			alive()
			for range 16 {
				if err := take(c, written/16); err != nil {
					return err
				}
				alive()
				time.Sleep(linger / 8) // 16 of these are longer than the linger time
			}
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.Greater(t, time.Now().UnixNano()-at.Load(), int64(linger), "nothing was shown")
			require.NoError(t, c.Close())
			require.NoError(t, conntest.Receive(t, closed))
			return nil
		})
	})
}

func TestFINIsToldOnceAndWritingGoesOn(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var eofs atomic.Int32
		handles := make(chan conn.Handle, 1)
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, data: echo, eof: func(c *conn.Conn) error {
			eofs.Add(1)
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				return fmt.Errorf("Read after the FIN: %w", err)
			}
			_, err := c.WriteString("after FIN")
			handles <- c.Handle()
			return err
		}})
		c := f.dial()
		write(t, c, "before")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Equal(t, "beforeafter FIN", string(read(t, c, 15)))
		h := conntest.Receive(t, handles)
		for range 50 { // it lives on
			require.NoError(t, h.Send([]byte("more")))
			require.Equal(t, "more", string(read(t, c, 4)))
		}
		require.NoError(t, h.Close())
		require.Empty(t, readEOF(t, c))
		require.NoError(t, conntest.Receive(t, closed))
		require.EqualValues(t, 1, eofs.Load())
	})
}

// Bytes and FIN in the same moment: the bytes come first.
func TestFINComesAfterTheBytesBeforeIt(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var bad atomic.Int32
		f := serve(t, backend, workers, funcs{
			data: func(*conn.Conn) error { return nil }, // leaves everything
			eof: func(c *conn.Conn) error {
				if p, _ := c.Next(-1); string(p) != "all of it" {
					bad.Add(1)
				}
				return c.Close()
			},
		})
		f.crowd(200, 20, func(_ int, c net.Conn) error {
			if _, err := c.Write([]byte("all of it")); err != nil {
				return err
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, c)
			return err
		})
		require.Zero(t, bad.Load())
	})
}

// One connection may be more patient than the others, or not at all.
func TestAConnectionsOwnLingerGoesBeforeTheConfigurations(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(2)
		linger := map[string]time.Duration{"short": shortLinger, "none": 0}
		f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			if err := c.SetLingerTimeout(time.Hour); err != nil {
				return err
			}
			if err := c.SetLingerTimeout(linger[string(p)]); err != nil {
				return err
			}
			if _, err := c.Write(make([]byte, 16<<20)); err != nil {
				return err
			}
			return c.Close()
		}}, func(cfg *conn.Config) { cfg.LingerTimeout = time.Hour })
		for _, how := range []string{"short", "none"} {
			c := f.dial()
			write(t, c, how)
			err := conntest.Receive(t, closed, how)
			if how == "short" {
				requireOpError(t, err, "close", os.ErrDeadlineExceeded)
			} else {
				require.NoError(t, err)
			}
			_, err = io.Copy(io.Discard, c)
			requireReset(t, err)
		}
	})
}
