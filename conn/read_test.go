package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// onData runs f as the OnData of one connection that has received text whole.
func onData(t *testing.T, text string, f func(t *testing.T, c *conn.Conn)) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		done := make(chan struct{})
		s := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error {
			if c.Buffered() < len(text) {
				return nil // not all of it yet
			}
			defer close(done)
			f(t, c)
			return c.Close()
		}})
		write(t, s.dial(), text)
		conntest.Receive(t, done)
	})
}

func TestReadingMethodsShareOnePosition(t *testing.T) {
	onData(t, "0123456789", func(t *testing.T, c *conn.Conn) {
		check := func(want string, wantErr error, got []byte, err error) {
			t.Helper()
			if string(got) != want || !errors.Is(err, wantErr) {
				t.Errorf("%q, %v; want %q, %v", got, err, want, wantErr)
			}
		}
		p, err := c.Peek(3)
		check("012", nil, p, err)
		p, err = c.Peek(3)
		check("012", nil, p, err) // it reads nothing
		p, err = c.Peek(-1)
		check("0123456789", nil, p, err)
		p, err = c.Peek(11)
		check("0123456789", io.ErrShortBuffer, p, err)
		p, err = c.Next(2)
		check("01", nil, p, err)
		if cap(p) != 2 {
			t.Errorf("an append to what Next returned would overwrite what follows: cap %d", cap(p))
		}
		p, err = c.Next(9)
		check("", io.ErrShortBuffer, p, err)
		n, err := c.Discard(1)
		check("2", nil, []byte(fmt.Sprint(n+1)), err)
		buf := make([]byte, 2)
		n, err = c.Read(buf)
		check("34", nil, buf[:n], err)
		if c.Buffered() != 5 {
			t.Errorf("%d buffered", c.Buffered())
		}
		var some limited
		written, err := c.WriteTo(&some)
		check("56", io.ErrShortWrite, some.got, err)
		if written != 2 || c.Buffered() != 3 {
			t.Errorf("%d written, %d buffered", written, c.Buffered())
		}
		n, err = c.Read(nil)
		check("", nil, buf[:n], err)
		n, err = c.Discard(5)
		check("4", io.ErrShortBuffer, []byte(fmt.Sprint(n+1)), err)
		_, err = c.Read(buf)
		check("", conn.ErrWouldBlock, nil, err)
		check("", syscall.EAGAIN, nil, err)
		p, err = c.Next(-1)
		check("", nil, p, err)
		written, err = c.WriteTo(&some)
		if written != 0 || err != nil {
			t.Errorf("WriteTo with nothing buffered: %d, %v", written, err)
		}
	})
}

// limited takes two bytes.
type limited struct{ got []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.got = append(l.got, p[:2]...)
	return 2, nil
}

func TestReadAfterCloseMatchesNetErrClosed(t *testing.T) {
	onData(t, "x", func(t *testing.T, c *conn.Conn) {
		_, _ = c.Discard(-1)
		_ = c.Close()
		_, err := c.Read(make([]byte, 1))
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// Length-prefixed frames, cut anywhere. Bytes that a handler leaves are returned again, in front of
// later bytes. Slices are valid while the handler runs.
func TestLeftoversStayInFrontOfWhatComesNext(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			var frames [][]byte
			for {
				head, err := c.Peek(3)
				if err != nil {
					break
				}
				n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
				if c.Buffered() < 3+n {
					break
				}
				_, _ = c.Discard(3)
				p, err := c.Next(n)
				if err != nil {
					return err
				}
				frames = append(frames, p)
			}
			if len(frames) == 0 {
				return nil
			}
			_, err := c.Writev(frames) // all of them must still be what they were
			return err
		}}, func(cfg *conn.Config) { cfg.Reactor.Buffers, cfg.Reactor.BufferSize = 4, 8<<10 })
		f.each(20, func(i int, c net.Conn) error {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			var stream, want []byte
			for range 30 {
				p := piece(r, r.IntN(1+r.IntN(40<<10)))
				stream = append(stream, byte(len(p)>>16), byte(len(p)>>8), byte(len(p)))
				stream = append(stream, p...)
				want = append(want, p...)
			}
			go func() {
				for len(stream) > 0 {
					n := min(len(stream), 1+r.IntN(1+r.IntN(20<<10)))
					if _, err := c.Write(stream[:n]); err != nil {
						return // the reader below says why
					}
					stream = stream[n:]
				}
			}()
			got := make([]byte, len(want))
			if n, err := io.ReadFull(c, got); err != nil {
				return fmt.Errorf("%d of %d bytes: %w", n, len(got), err)
			}
			if !bytes.Equal(got, want) {
				return errors.New("frames came back changed")
			}
			return nil
		})
	})
}

func TestLeavingMaxReadUnreadEndsTheConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var most atomic.Int64
		closed, tell := ends(1)
		f := serve(t, backend, 1, funcs{close: tell, data: func(c *conn.Conn) error {
			most.Store(max(most.Load(), int64(c.Buffered())))
			return nil
		}}, func(cfg *conn.Config) { cfg.MaxRead, cfg.Reactor.BufferSize = 10_000, 4096 })
		c := f.dial()
		write(t, c, noise[:9_999])
		conntest.Eventually(t, func() bool { return most.Load() == 9_999 })
		require.Equal(t, 1, f.Len(), "one byte below MaxRead")
		_, _ = c.Write(noise[:100_000])
		_ = c.(*net.TCPConn).CloseWrite() // else Close waits for it
		_, _ = io.Copy(io.Discard, c)
		require.ErrorIs(t, conntest.Receive(t, closed), conn.ErrReadBufferFull)
		require.LessOrEqual(t, most.Load(), int64(10_000+4096), "MaxRead and one buffer")
	})
}

// A handler that reads a little each time must not make the connection buffer
// whatever the peer sends.
func TestReadingTooLittleDoesNotPileUpWhatIsUnread(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const total = 4 << 20
		var most, got atomic.Int64
		f := serve(t, backend, 1, funcs{
			data: func(c *conn.Conn) error {
				most.Store(max(most.Load(), int64(c.Buffered())))
				n, _ := c.Discard(min(c.Buffered(), 1000))
				got.Add(int64(n))
				return nil
			},
			eof: func(c *conn.Conn) error {
				n, _ := c.Discard(-1)
				got.Add(int64(n))
				return c.Close()
			},
		}, func(cfg *conn.Config) { cfg.MaxRead, cfg.Reactor.BufferSize = 64<<10, 16<<10 })
		c := f.dial()
		for range total / len(noise) {
			write(t, c, noise)
		}
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Empty(t, readEOF(t, c))
		require.EqualValues(t, total, got.Load())
		require.LessOrEqual(t, most.Load(), int64(64<<10+16<<10))
	})
}
