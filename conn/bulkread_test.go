package conn_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Reads for a handler that keeps up are no larger than the reactor's memory allows. Where that is
// more than one of its buffers, a read is larger than one buffer.
func TestABulkIsReadInLargePiecesAsFarAsReceiveMemoryAllows(t *testing.T) {
	for _, shape := range []struct{ buffers, size, least, most int }{{32, 64 << 10, 64<<10 + 1, 128 << 10}, {2, 8 << 10, 0, 16 << 10}} {
		t.Run(fmt.Sprintf("%d of %d bytes", shape.buffers, shape.size), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				if backend == "iocp" {
					shape.least = 0 // there the reactor receives
				}
				var most, got atomic.Int64
				f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
					most.Store(max(most.Load(), int64(c.Buffered())))
					got.Add(int64(c.Buffered()))
					return discard(c)
				}}, func(cfg *conn.Config) { cfg.Reactor.Buffers, cfg.Reactor.BufferSize = shape.buffers, shape.size })
				c := f.dial()
				sent := 0
				conntest.Eventually(t, func() bool { // until so much has come while the worker was busy
					write(t, c, noise)
					sent += len(noise)
					return sent >= 8<<20 && most.Load() >= int64(shape.least)
				})
				conntest.Eventually(t, func() bool { return got.Load() == int64(sent) })
				require.LessOrEqual(t, most.Load(), int64(shape.most))
			})
		})
	}
}

// A worker's connections are read into the same memory, one after the other: what a handler leaves
// of that, be it a frame that has come in part, stays its own.
func TestFramesOfManyBulksDoNotMix(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			for {
				head, err := c.Peek(4)
				if err != nil {
					return nil // the rest is to come
				}
				n := int(binary.BigEndian.Uint32(head))
				if c.Buffered() < 4+n {
					return nil
				}
				_, _ = c.Discard(4)
				p, _ := c.Next(n)
				if _, err := c.Write(p); err != nil {
					return err
				}
			}
		}})
		f.each(8, func(i int, c net.Conn) error {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			var frames [][]byte
			for range 60 {
				frames = append(frames, piece(r, 1+r.IntN(1+r.IntN(300<<10)))) // also more than is read at once
			}
			sent := make(chan error, 1)
			go func() {
				var out []byte
				for _, p := range frames {
					out = append(binary.BigEndian.AppendUint32(out, uint32(len(p))), p...)
				}
				sent <- writeAll(c, out)
			}()
			for at, p := range frames {
				got := make([]byte, len(p))
				if _, err := io.ReadFull(c, got); err != nil {
					return fmt.Errorf("frame %d: %w", at, err)
				}
				if !bytes.Equal(got, p) {
					return fmt.Errorf("frame %d of %d bytes came back different", at, len(p))
				}
			}
			return <-sent
		})
	})
}

// A handler that panics with the worker's memory before it takes down nobody else's bytes.
func TestAPanicAmongBulksIsItsOwn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var panics atomic.Bool
		closed, tell := ends(2)
		f := serve(t, backend, workers, funcs{close: tell, data: func(c *conn.Conn) error {
			if c.Buffered() > 40<<10 && panics.CompareAndSwap(true, false) {
				panic("in the middle")
			}
			return echoSome(c, c.Buffered()/2+1)
		}})
		other := f.dial()
		back := make(chan error, 1)
		go func() {
			for range 64 {
				if err := writeAll(other, noise); err != nil {
					back <- err
					return
				}
			}
			back <- nil
		}()
		bad := f.dial()
		go func() {
			for writeAll(bad, noise) == nil {
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, bad) }()
		panics.Store(true)
		got := make([]byte, len(noise))
		for i := range 63 { // the rest of the last one may wait for more
			_, err := io.ReadFull(other, got)
			if err != nil { // it was this one's
				break
			}
			require.True(t, bytes.Equal(noise, got), "mebibyte %d", i)
		}
		var p *conn.PanicError
		require.ErrorAs(t, conntest.Receive(t, closed), &p)
		_ = bad.Close()
		_ = other.Close()
		<-back
	})
}

// Writes of the sizes of many calls, behind queued bytes, through sockets that take little or all.
func TestHugeWritesArriveInOrder(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, room := range []int{16 << 10, 8 << 20} {
			f := serve(t, backend, 1, funcs{
				open: func(c *conn.Conn) error { return c.SetWriteBuffer(room) },
				data: func(c *conn.Conn) error {
					_ = discard(c)
					for _, n := range []int{100, 3 << 20, 512<<10 + 1, 7, 512 << 10, 1 << 20} {
						if _, err := c.Write(huge[:n]); err != nil {
							return err
						}
					}
					return c.CloseWrite()
				},
			})
			c := f.dial()
			write(t, c, "x")
			got := readEOF(t, c)
			at := 0
			for _, n := range []int{100, 3 << 20, 512<<10 + 1, 7, 512 << 10, 1 << 20} {
				require.True(t, len(got) >= at+n && bytes.Equal(huge[:n], got[at:at+n]), "%d bytes at %d of %d", n, at, len(got))
				at += n
			}
			require.Len(t, got, at)
		}
	})
}

var huge = bytes.Repeat(noise, 3)
