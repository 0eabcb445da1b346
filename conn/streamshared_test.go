package conn_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// idleWaits are waits of a handler's function for a next request.
var idleWaits = map[string]func(cx *sched.Context, s *conn.Stream) error{
	"Read": func(_ *sched.Context, s *conn.Stream) error {
		_, err := s.Read(make([]byte, 1))
		return err
	},
	"Peek": func(_ *sched.Context, s *conn.Stream) error {
		_, err := s.Peek(1)
		return err
	},
	"Next": func(_ *sched.Context, s *conn.Stream) error {
		_, err := s.Next(1)
		return err
	},
	"Readable": func(cx *sched.Context, s *conn.Stream) error {
		if _, err := sched.Await(cx, s.Readable()); err != nil {
			return err
		}
		_, err := s.TryRead(make([]byte, 1))
		return err
	},
}

// alike runs a test of a handler's Stream that is shared with other tasks, and of one that is not.
func alike(t *testing.T, test func(t *testing.T, shares bool, backend string, workers int)) {
	for name, shares := range map[string]bool{"shared": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) { test(t, shares, backend, workers) })
		})
	}
}

// When the server shuts down, the wait for a next request ends with io.EOF. One behind a request
// that has no answer yet goes on.
func TestAnIdleStreamEndsAtShutdown(t *testing.T) {
	alike(t, func(t *testing.T, shares bool, backend string, workers int) {
		for name, wait := range idleWaits {
			t.Run(name, func(t *testing.T) {
				began, errs := make(chan struct{}), make(chan error, 2)
				f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
					if shares {
						s.Socket()
					}
					if _, err := s.ReadFull(make([]byte, 2)); err != nil { // the first request, and half of one
						return err
					}
					close(began)
					if err := wait(cx, s); err != nil { // the other half
						errs <- fmt.Errorf("within a request: %w", err)
						return nil
					}
					_, err := s.Discard(s.Buffered())
					if err == nil {
						_, err = s.Write([]byte("answer"))
					}
					errs <- errors.Join(err, wait(cx, s))
					return nil
				})
				c := f.dial()
				write(t, c, "xx")
				conntest.Receive(t, began)
				f.Drain()
				f.rounds(3)
				write(t, c, "x")
				require.Equal(t, "answer", string(read(t, c, 6)))
				require.ErrorIs(t, conntest.Receive(t, errs), io.EOF)
				readEOF(t, c)
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

// A loop of io.Copy ends at a shutdown between requests: the bytes that it has written back were
// read before that.
func TestAnEchoByCopyEndsAtAShutdown(t *testing.T) {
	copies := map[string]func(s *conn.Stream) (int64, error){
		"WriteTo":         func(s *conn.Stream) (int64, error) { return io.Copy(s, s) },
		"WriteTo, hidden": func(s *conn.Stream) (int64, error) { return s.WriteTo(struct{ io.Writer }{s}) },
		"Read":            func(s *conn.Stream) (int64, error) { return io.Copy(s, struct{ io.Reader }{s}) },
	}
	alike(t, func(t *testing.T, shares bool, backend string, workers int) {
		for name, echo := range copies {
			t.Run(name, func(t *testing.T) {
				f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
					if shares {
						s.Socket()
					}
					_, err := echo(s)
					return err
				})
				c := f.dial()
				for range 2 {
					write(t, c, "request")
					require.Equal(t, "request", string(read(t, c, 7)))
				}
				f.Drain()
				readEOF(t, c)
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

// Deadlines of a handler's Stream are times of the runtime's clock.
func TestDeadlinesOfAStreamOnAVirtualClock(t *testing.T) {
	alike(t, func(t *testing.T, shares bool, backend string, workers int) {
		errs := make(chan error, 2)
		f := newVirtual(t, backend, workers)
		fn := func(cx *sched.Context, s *conn.Stream) error {
			if shares {
				s.Socket()
			}
			if _, err := s.Read(make([]byte, 1)); err != nil {
				return err
			}
			rt := f.Runtime()
			at := rt.Time(rt.Now() + 2*time.Hour)
			if err := s.SetReadDeadline(at); err != nil {
				return err
			}
			_, err := s.Read(make([]byte, 1))
			if rt.Now() < rt.At(at) {
				err = errors.New("too early")
			}
			errs <- err
			if err := s.SetReadDeadline(time.Time{}); err != nil {
				return err
			}
			_, err = s.Read(make([]byte, 1)) // the deadline is taken back
			errs <- err
			return nil
		}
		f.listenStreams(fn)
		c := f.dial()
		write(t, c, "x")
		require.ErrorIs(t, conntest.Receive(t, errs), os.ErrDeadlineExceeded)
		write(t, c, "x")
		require.NoError(t, conntest.Receive(t, errs))
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}
