package conn_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// flow is an echo that notes how much was unsent, at most, and how often it ran.
type flow struct {
	conn.Base
	most, calls, got atomic.Int64
	write            atomic.Int64 // the largest
}

func (h *flow) OnOpen(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) }

func (h *flow) OnData(c *conn.Conn) error {
	h.calls.Add(1)
	h.got.Add(int64(c.Buffered()))
	h.write.Store(max(h.write.Load(), int64(c.Buffered())))
	err := echo(c)
	h.most.Store(max(h.most.Load(), int64(c.Unsent())))
	return err
}

const (
	flowHigh    = 256 << 10 // the default HighWater
	flowReceive = 2 << 20   // the default receive memory of a reactor
)

// requireBounds checks that unsent stayed below HighWater plus one write, and
// that this was no larger than the bytes that arrive before a pause takes effect.
func (h *flow) requireBounds(t *testing.T, receive int) {
	t.Helper()
	require.LessOrEqual(t, h.most.Load(), flowHigh+h.write.Load())
	require.LessOrEqual(t, h.write.Load(), int64(2*receive))
	require.Greater(t, h.most.Load(), int64(flowHigh), "the queue never filled: nothing was shown")
}

func TestAnEchoToASlowReaderStaysBelowHighWaterAndLosesNothing(t *testing.T) {
	t.Run("default buffers", func(t *testing.T) { echoToASlowReader(t, 64<<20, 32, 64<<10) })
	t.Run("small buffers", func(t *testing.T) { echoToASlowReader(t, 8<<20, 4, 8<<10) })
}

func echoToASlowReader(t *testing.T, total, buffers, size int) {
	if testing.Short() {
		total /= 8
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := &flow{}
		f := serve(t, backend, 2, h, func(cfg *conn.Config) { cfg.Reactor.Buffers, cfg.Reactor.BufferSize = buffers, size })
		c := f.dial()
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
		written := make(chan error, 1)
		go func() {
			for sent := 0; sent < total; sent += 256 << 10 {
				if _, err := c.Write(noise[sent%len(noise):][:256<<10]); err != nil {
					written <- err
					return
				}
			}
			written <- c.(*net.TCPConn).CloseWrite()
		}()
		conntest.Eventually(t, func() bool { return h.most.Load() > flowHigh }) // as slow as that
		buf := make([]byte, 128<<10)
		for at, pieces := 0, 0; at < total; pieces++ {
			n, err := io.ReadFull(c, buf[:min(len(buf), total-at)])
			require.NoError(t, err, "%d of %d bytes", at+n, total)
			want := noise[at%len(noise):][:n]
			if !bytes.Equal(want, buf[:n]) {
				t.Fatalf("bytes from %d on are not what was sent", at)
			}
			at += n
			if pieces%64 == 0 {
				time.Sleep(time.Millisecond) // it stays slow, so that output is mostly in line
			}
		}
		require.NoError(t, conntest.Receive(t, written))
		require.Empty(t, readEOF(t, c))
		require.EqualValues(t, total, h.got.Load())
		h.requireBounds(t, buffers*size)
	})
}

// Bytes that arrive while reading is paused, and an error behind them, are not lost either.
func TestBytesBeforeAFINReachAPausedHandler(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var got atomic.Int64
		result := make(chan string, 1)
		f := serve(t, backend, 1, funcs{
			data: func(c *conn.Conn) error {
				n, _ := c.Discard(-1)
				if got.Add(int64(n)) == int64(n) {
					_, err := c.Write(make([]byte, 8<<20)) // paused by this
					return err
				}
				return nil
			},
			eof: func(c *conn.Conn) error {
				result <- fmt.Sprint(got.Load())
				return c.Close()
			},
		})
		c := f.dial()
		write(t, c, "x")
		read(t, c, 1) // the answer has begun
		write(t, c, noise[:100_000])
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Len(t, readEOF(t, c), 8<<20-1)
		require.Equal(t, "100001", conntest.Receive(t, result))
	})
}
