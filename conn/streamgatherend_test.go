package conn_test

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// Another task than the handler's function writes, waits, writes and closes. The close wakes the
// function, which returns, and that ends the connection as well.
func TestACloseByAnotherTaskSendsSmallWrites(t *testing.T) {
	bound := func(_, bound *conn.Stream) error { return bound.Close() }
	handlers := func(handlers, _ *conn.Stream) error { return handlers.Close() }
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, end := range []func(handlers, bound *conn.Stream) error{bound, handlers} {
			streams := make(chan *conn.Stream, 1)
			f := sequential(t, backend, 2, func(_ *sched.Context, s *conn.Stream) error {
				streams <- s
				_, _ = io.Copy(io.Discard, s)
				return nil
			})
			for range 60 {
				c := f.dial()
				s := conntest.Receive(t, streams)
				f.task(func(cx *sched.Context) error {
					b := s.Bind(cx)
					_, err := b.Write([]byte("a"))
					_, yielded := sched.Await(cx, sched.Yield())
					_, werr := b.Write([]byte("bye"))
					return errors.Join(err, yielded, werr, end(s, b))
				})
				require.Equal(t, "abye", string(readEOF(t, c)))
				require.NoError(t, c.Close())
			}
		}
	})
}

// The connection is ended past the Stream while a task of another runtime has written and not
// waited since.
func TestAnEndByTheHandleSendsSmallWrites(t *testing.T) {
	closes := conn.Handle.Close
	finishes := func(h conn.Handle) error { return h.Do(func(c *conn.Conn) { _ = c.CloseWrite() }) }
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, end := range []func(h conn.Handle) error{closes, finishes} {
			rt := sched.New(sched.Config{Workers: 1})
			t.Cleanup(func() { require.NoError(t, rt.Close()) })
			streams, over := make(chan *conn.Stream, 1), make(chan struct{})
			f := sequential(t, backend, 2, func(cx *sched.Context, s *conn.Stream) error {
				streams <- s
				_, err := sched.Await(cx, sched.Recv(over))
				return err
			})
			t.Cleanup(func() { close(over) })
			c := f.dial()
			s := conntest.Receive(t, streams)
			var finished atomic.Bool
			t.Cleanup(func() { finished.Store(true) })
			done := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
				b := s.Bind(cx)
				_, err := b.Write([]byte("a"))
				_, yielded := sched.Await(cx, sched.Yield())
				_, werr := b.Write([]byte("bye"))
				err = errors.Join(err, yielded, werr, end(s.Handle()))
				for begun := time.Now(); !finished.Load(); runtime.Gosched() { // no wait: it would send
					if time.Since(begun) > conntest.Patience {
						return struct{}{}, errors.New("no end was seen")
					}
				}
				return struct{}{}, err
			})
			got := string(readEOF(t, c))
			finished.Store(true)
			require.Equal(t, "abye", got)
			_, err := done.Wait(t.Context())
			require.NoError(t, err)
		}
	})
}
