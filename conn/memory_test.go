package conn_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// small makes unread bytes of a connection wait in our memory, not in the kernel's.
func small(c net.Conn) net.Conn {
	_ = c.(*net.TCPConn).SetReadBuffer(16 << 10)
	return c
}

// Everybody asks for much at once and reads when it comes to it: the server keeps a
// few answers at a time, and all are served.
func TestManySlowReadersAreServedBelowTheMemoryCeiling(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers, clients, answer, ceiling = 2, 200, 1 << 20, 24 << 20
		var most atomic.Int64
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
			data: func(c *conn.Conn) error {
				if _, err := c.Discard(-1); err != nil {
					return err
				}
				_, err := c.Write(noise[:answer])
				for now := int64(c.Group().Buffered() + answer); ; {
					if old := most.Load(); now <= old || most.CompareAndSwap(old, now) {
						break
					}
				}
				return err
			},
		}, func(cfg *conn.Config) { cfg.MaxMemory = ceiling })
		conns := make([]net.Conn, clients)
		for i := range conns {
			c, err := net.DialTimeout("tcp", f.addr.String(), conntest.Patience)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(3*conntest.Patience)))
			conns[i] = small(c)
			_, err = c.Write([]byte("me"))
			require.NoError(t, err)
		}
		conntest.Crowd(t, clients, clients, func(i int) error { // all of them read, a little at a time
			got := make([]byte, 64<<10)
			for at := 0; at < answer; at += len(got) {
				if _, err := io.ReadFull(conns[i], got); err != nil {
					return err
				}
				if !bytes.Equal(got, noise[at:at+len(got)]) {
					return errors.New("an answer has changed")
				}
				runtime.Gosched()
			}
			return nil
		})
		require.LessOrEqual(t, most.Load(), int64(ceiling/4*3+(workers+1)*answer), "three quarters, and what the runs under way add")
		conntest.Eventually(t, func() bool { return f.Buffered() == 0 })
	})
}

// Readers that take nothing at all go by the write time-out, and the others come to
// their turn.
func TestThoseWhoTakeNothingDoNotHoldUpTheOthersForEver(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 500*time.Millisecond, func(limit time.Duration, alive func()) error {
			const answer, piece = 1 << 20, 64 << 10
			f := serve(t, backend, 2, funcs{
				open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
				data: func(c *conn.Conn) error {
					if _, err := c.Discard(-1); err != nil {
						return err
					}
					_, err := c.Write(noise[:answer])
					return err
				},
			}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.WriteTimeout = 16<<20, limit })
			for range 20 {
				write(t, small(f.dial()), "me")
			}
			c := f.dial() // as connected as the kernel makes it
			write(t, c, "me")
			got := make([]byte, answer)
			_, err := io.ReadFull(c, got[:1]) // this one is waited for as long as the others may take nothing
			for at := 1; err == nil && at < answer; at += piece {
				alive()
				_, err = io.ReadFull(c, got[at:min(answer, at+piece)])
			}
			if err == nil {
				require.True(t, bytes.Equal(noise[:answer], got))
			}
			return err
		})
	})
}

// With nothing unsent no memory would ever come back: the greediest goes.
func TestTheGreediestIsShedWhenWaitingWouldNotHelp(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		closed, tell := ends(100)
		f := serve(t, backend, workers, funcs{close: tell,
			data: func(c *conn.Conn) error { // a message of 900 kB, which only some send whole
				if c.Buffered() < 900<<10 {
					return nil
				}
				if _, err := c.Discard(-1); err != nil {
					return err
				}
				_, err := c.WriteString("done")
				return err
			},
		}, func(cfg *conn.Config) { cfg.MaxMemory = 4 << 20 })
		for i := range 8 { // the last ones have the most
			go func() {
				c, err := dial(f.addr)
				if err != nil {
					return
				}
				defer c.Close()
				_, _ = c.Write(noise[:(i+2)*97<<10])
				_, _ = c.Read(make([]byte, 1))
			}()
		}
		require.ErrorIs(t, conntest.Receive(t, closed), conn.ErrShed)
		c := f.dial()
		write(t, c, noise[:900<<10])
		got := make([]byte, 4)
		_, err := io.ReadFull(c, got)
		if err == nil { // it may itself have been the greediest
			require.Equal(t, "done", string(got))
		}
		require.LessOrEqual(t, f.Buffered(), 4<<20+(workers+1)<<20)
	})
}

func TestAnEchoUnderTheCeilingIsNotDisturbed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) { cfg.MaxMemory = 8 << 20 })
		f.crowd(200, 20, func(_ int, c net.Conn) error {
			for range 20 {
				if err := served(c); err != nil {
					return err
				}
			}
			return nil
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		conntest.Eventually(t, func() bool { return f.Buffered() == 0 }, "all memory is given back")
	})
}

// keep leaves received bytes unread.
func keep(*conn.Conn) error { return nil }

// The same when it is a listener that waits: silent connections with parts of messages
// must not keep the server from accepting for ever.
func TestAListenerThatWaitsForMemoryShedsWhenWaitingWouldNotHelp(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		opened := make(chan struct{}, 10)
		f := serve(t, backend, workers, funcs{data: keep, open: func(*conn.Conn) error { opened <- struct{}{}; return nil }},
			func(cfg *conn.Config) { cfg.HighWater, cfg.MaxMemory = 64<<10, 128<<10 })
		silent := f.dial()
		conntest.Receive(t, opened)
		write(t, silent, noise[:90<<10])
		conntest.Eventually(t, func() bool { return f.Buffered() >= 90<<10 })
		write(t, silent, noise[:8<<10])
		conntest.Eventually(t, func() bool { return f.Buffered() >= 98<<10 || f.Buffered() == 0 })
		for range 3 {
			f.dial()
			conntest.Receive(t, opened)
		}
	})
}

// A listener whose turn it is for memory, and which then finds no slot, does not keep
// the turn.
func TestAListenerWithoutSlotsPassesItsTurnForMemoryOn(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const ceiling = 8 << 20
		opened, got := make(chan struct{}, 10), make(chan struct{}, 10)
		f := newFixture(t, backend, 1, func(cfg *conn.Config) {
			cfg.MaxMemory, cfg.MaxConns, cfg.Overflow = ceiling, 1, conn.OverflowWait
		})
		l := f.listen("tcp", "127.0.0.1:0", funcs{
			open: func(*conn.Conn) error { opened <- struct{}{}; return nil },
			data: func(c *conn.Conn) error { got <- struct{}{}; return discard(c) },
		})
		served := f.dial()
		conntest.Receive(t, opened)
		// A dialed connection, which takes no slot, has most of the memory: its peer
		// does not read.
		peer := conntest.Listen(t)
		accepted := make(chan net.Conn, 1)
		go func() {
			c, err := peer.Accept()
			if err == nil {
				accepted <- small(c)
			}
		}()
		h, err := f.Dial(peer.Addr(), f.audit.of(funcs{open: func(c *conn.Conn) error { return c.SetWriteBuffer(4096) }}))
		require.NoError(t, err)
		defer conntest.Receive(t, accepted).Close()
		require.NoError(t, h.Send(make([]byte, ceiling-ceiling/10)))
		conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/4*3 })
		f.dial() // the listener waits for memory, first in the line
		conntest.Eventually(t, l.InLine)
		write(t, served, "x")             // and then this connection
		time.Sleep(20 * time.Millisecond) // not for anything to happen, but for nothing to
		require.Empty(t, got)
		require.NoError(t, h.Abort())
		conntest.Receive(t, got)
	})
}

// Each method that reads or drops kept bytes gives their memory back.
func TestBytesThatAnyMethodReadsReturnTheirMemory(t *testing.T) {
	const n = 100 << 10
	reads := map[string]func(*conn.Conn) error{"CloseRead": (*conn.Conn).CloseRead, "Discard": discard}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, read := range reads {
			t.Run(name, func(t *testing.T) {
				f := serve(t, backend, 1, funcs{data: keep, drain: func(c *conn.Conn) { _ = read(c) }},
					func(cfg *conn.Config) { cfg.MaxMemory = 8 << 20 })
				write(t, f.dial(), noise[:n])
				conntest.Eventually(t, func() bool { return f.Buffered() == n })
				f.Drain()
				conntest.Eventually(t, func() bool { return f.Buffered() == 0 })
			})
		}
	})
}
