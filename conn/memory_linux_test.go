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

// small has a connection leave what is not read to us, not to the kernel.
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
		const answer = 1 << 20
		f := serve(t, backend, 2, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
			data: func(c *conn.Conn) error {
				if _, err := c.Discard(-1); err != nil {
					return err
				}
				_, err := c.Write(noise[:answer])
				return err
			},
		}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.WriteTimeout = 16<<20, 500*time.Millisecond })
		for range 20 {
			write(t, small(f.dial()), "me")
		}
		c := f.dial() // as connected as the kernel makes it
		write(t, c, "me")
		require.Equal(t, noise[:answer], read(t, c, answer))
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
		conntest.Crowd(t, 200, 20, func(int) error {
			c, err := dial(f.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			for range 20 {
				if err := served(c); err != nil {
					return err
				}
			}
			return nil
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Zero(t, f.Buffered(), "everything is booked back")
	})
}
