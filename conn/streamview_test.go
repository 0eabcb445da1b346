package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// onEachStream tests fn on a Stream of each kind: of a handler, dialed by a task, and of a handler
// but bound by another task. test gets the peer and the error of fn.
func onEachStream(t *testing.T, fn func(cx *sched.Context, s *conn.Stream) error, test func(t *testing.T, c net.Conn, done <-chan error), configure ...func(*conn.Config)) {
	t.Helper()
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		t.Run("handler", func(t *testing.T) {
			done := make(chan error, 1)
			f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
				err := fn(cx, s)
				done <- err
				return err
			}, configure...)
			test(t, f.dial(), done)
		})
		t.Run("dialed", func(t *testing.T) {
			ln := conntest.Listen(t)
			f := newFixture(t, backend, workers, configure...)
			s := conn.NewStream()
			done := inTask(f, s, fn)
			_, err := f.Dial(ln.Addr(), s.Handler()) // the function waits by then, or does not yet
			require.NoError(t, err)
			c, err := ln.Accept()
			require.NoError(t, err)
			defer c.Close()
			test(t, c, done)
		})
		t.Run("bound", func(t *testing.T) {
			streams := make(chan *conn.Stream, 1)
			f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
				streams <- s
				_, err := sched.Await(cx, s.Closed())
				return err
			}, configure...)
			c := f.dial()
			test(t, c, inTask(f, conntest.Receive(t, streams), fn))
		})
	})
}

// inTask runs fn as a task that binds the Stream, and closes it.
func inTask(f *fixture, s *conn.Stream, fn func(cx *sched.Context, s *conn.Stream) error) <-chan error {
	done := make(chan error, 1)
	sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
		s := s.Bind(cx)
		done <- fn(cx, s)
		_ = s.Close() // the test may have
		return struct{}{}, nil
	})
	return done
}

// want is an error unless the result of a call is as expected.
func want(what string, p []byte, err error, bytes string, target error) error {
	if string(p) != bytes || !errors.Is(err, target) || target == nil && err != nil {
		return fmt.Errorf("%s: %q, %v; not %q, %v", what, p, err, bytes, target)
	}
	return nil
}

func TestStreamsAreReadInPlaceHoweverBytesArrive(t *testing.T) {
	onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
		for range 100 {
			p, err := s.Peek(0)
			errs := want("Peek(0)", p, err, "", nil)
			p, err = s.Peek(4)
			errs = errors.Join(errs, want("Peek", p, err, "head", nil))
			p, err = s.Peek(6)
			errs = errors.Join(errs, want("Peek again", p, err, "head, ", nil))
			p, err = s.Next(4)
			errs = errors.Join(errs, want("Next", p, err, "head", nil))
			n, err := s.Discard(2)
			errs = errors.Join(errs, want("Discard", make([]byte, n), err, "\x00\x00", nil))
			q := make([]byte, 1)
			_, err = s.Read(q)
			errs = errors.Join(errs, want("Read", q, err, "t", nil))
			p, err = s.Next(1)
			errs = errors.Join(errs, want("Next", p, err, "a", nil))
			for rest := "il."; rest != "" && errs == nil; rest = rest[len(p):] {
				p, err = s.Peek(-1)
				p = p[:min(len(p), len(rest))]
				errs = want("Peek(-1)", p, err, rest[:len(p)], nil)
				_, err = s.Next(len(p))
				errs = errors.Join(errs, err)
			}
			if errs != nil {
				return errs
			}
		}
		n, err := s.Discard(10)
		if n != 3 || err != io.ErrUnexpectedEOF {
			return fmt.Errorf("Discard: %d, %v", n, err)
		}
		n, err = s.Discard(1)
		if n != 0 || err != io.EOF || s.Buffered() != 0 {
			return fmt.Errorf("Discard at the end: %d, %v", n, err)
		}
		return nil
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		for i := range 100 {
			b := []byte("head, tail.")
			for step := 1 + i%11; len(b) > 0; b = b[min(step, len(b)):] {
				write(t, c, string(b[:min(step, len(b))]))
			}
		}
		write(t, c, "end")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.NoError(t, conntest.Receive(t, done))
	})
}

func TestTheEndIsSeenInPlaceBehindAllBytes(t *testing.T) {
	onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
		p, err := s.Next(5)
		errs := want("Next", p, err, "", io.ErrUnexpectedEOF)
		p, err = s.Peek(5)
		errs = errors.Join(errs, want("Peek", p, err, "four", io.ErrUnexpectedEOF))
		p, err = s.Next(-1)
		errs = errors.Join(errs, want("Next(-1)", p, err, "four", nil))
		p, err = s.Peek(-1)
		return errors.Join(errs, want("Peek at the end", p, err, "", io.EOF))
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		write(t, c, "fo")
		write(t, c, "ur")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.NoError(t, conntest.Receive(t, done))
	})
}

// A wait in place takes more than HighWater, for which reading had stopped, but not more than
// MaxRead.
func TestAsMuchAsMaxReadIsWaitedForInPlace(t *testing.T) {
	const high, most = 16 << 10, 200 << 10
	onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
		if _, err := s.Peek(5 * most); !errors.Is(err, io.ErrShortBuffer) {
			return fmt.Errorf("more than MaxRead: %w", err)
		}
		for s.Buffered() < high {
			if err := sleep(cx, time.Millisecond); err != nil {
				return err
			}
		}
		for from := 0; from < 4*most; from += most {
			if p, err := s.Peek(most - 1); err != nil || !bytes.Equal(p, noise[from:from+most-1]) {
				return fmt.Errorf("%d bytes of Peek, %w", len(p), err)
			}
			if p, err := s.Next(most); err != nil || !bytes.Equal(p, noise[from:from+most]) {
				return fmt.Errorf("%d bytes of Next, %w", len(p), err)
			}
		}
		return nil
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Write(noise[:4*most])
			wrote <- err
		}()
		require.NoError(t, conntest.Receive(t, done))
		require.NoError(t, conntest.Receive(t, wrote))
	}, func(cfg *conn.Config) { cfg.HighWater, cfg.MaxRead, cfg.LowWater = high, most, high/2 })
}

// A burst may bring more than MaxRead. All buffered bytes can be taken.
func TestAllThatIsBufferedCanBeTakenInPlace(t *testing.T) {
	const most = 4 << 10
	onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
		if _, err := s.Peek(most); err != nil {
			return err
		}
		for taken := 0; taken < 2*most; {
			n := s.Buffered()
			if p, err := s.Peek(n); err != nil || !bytes.Equal(p, noise[taken:taken+n]) {
				return fmt.Errorf("%d of %d bytes of Peek, %w", len(p), n, err)
			}
			if _, err := s.Next(n); err != nil {
				return err
			}
			taken += n
			if _, err := s.Peek(min(1, 2*most-taken)); err != nil {
				return err
			}
		}
		return nil
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		write(t, c, string(noise[:2*most]))
		require.NoError(t, conntest.Receive(t, done))
	}, func(cfg *conn.Config) { cfg.HighWater, cfg.MaxRead, cfg.LowWater = most, most, most/2 })
}

func TestADeadlineInPlaceLosesNothing(t *testing.T) {
	onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
		p, err := s.Peek(1)
		errs := want("Peek", p, err, "x", nil)
		_ = s.SetReadDeadline(time.Now().Add(time.Millisecond))
		p, err = s.Next(4)
		errs = errors.Join(errs, want("late", p, err, "", os.ErrDeadlineExceeded))
		_ = s.SetReadDeadline(time.Time{})
		if _, err := s.Write([]byte("late")); err != nil {
			return err
		}
		p, err = s.Next(4)
		return errors.Join(errs, want("Next", p, err, "xyz.", nil))
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		write(t, c, "x")
		require.Equal(t, "late", string(read(t, c, 4)))
		write(t, c, "yz.")
		require.NoError(t, conntest.Receive(t, done))
	})
}

func TestACanceledPeekLosesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const rounds = 300
		f := serve(t, backend, workers, funcs{data: echo})
		s := conn.NewStream()
		_, err := f.Dial(f.addr, s.Handler())
		require.NoError(t, err)
		go func() {
			for i := range rounds {
				if _, err := fmt.Fprintf(s.Socket(), "%04d", i); err != nil {
					t.Error(err)
				}
			}
		}()
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		for i := range rounds {
			waits := sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
				_, err := s.Bind(cx).Peek(8)
				return struct{}{}, err
			})
			waits.Abort()
			_, _ = waits.Wait(ctx) // it may have been there before
			_, err := sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
				p, err := s.Bind(cx).Next(4)
				return struct{}{}, want("Next", p, err, fmt.Sprintf("%04d", i), nil)
			}).Wait(ctx)
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
	})
}

// A Write of bytes in place waits above HighWater, and its bytes must outlast that.
func TestBytesInPlaceAreWrittenBack(t *testing.T) {
	echoes := map[string]func(cx *sched.Context, s *conn.Stream) error{
		"Next": func(_ *sched.Context, s *conn.Stream) error {
			for {
				p, err := s.Next(-1)
				if err != nil {
					return err
				}
				if _, err := s.Write(p); err != nil {
					return err
				}
			}
		},
		"WriteTo": func(_ *sched.Context, s *conn.Stream) error {
			_, err := s.WriteTo(s)
			return errors.Join(err, io.EOF)
		},
		"Copy": func(_ *sched.Context, s *conn.Stream) error {
			n, err := io.Copy(struct{ io.Writer }{s}, s)
			if n != int64(len(noise)) {
				return fmt.Errorf("%d bytes, %w", n, err)
			}
			return errors.Join(err, io.EOF)
		},
		"ReadFrom": func(_ *sched.Context, s *conn.Stream) error {
			_, err := s.ReadFrom(struct{ io.Reader }{s})
			return errors.Join(err, io.EOF)
		},
	}
	for name, echo := range echoes {
		t.Run(name, func(t *testing.T) {
			onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
				err := echo(cx, s)
				if errors.Is(err, io.EOF) {
					return s.CloseWrite()
				}
				return err
			}, func(t *testing.T, c net.Conn, done <-chan error) {
				wrote := make(chan error, 1)
				go func() {
					_, err := c.Write(noise)
					wrote <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
				}()
				require.True(t, bytes.Equal(noise, readEOF(t, c)))
				require.NoError(t, conntest.Receive(t, wrote))
				require.NoError(t, conntest.Receive(t, done))
			}, func(cfg *conn.Config) { cfg.HighWater = 8 << 10 })
		})
	}
}

// The bytes that a Writer does not take stay.
func TestWriteToLosesNothingOfAWriterThatFails(t *testing.T) {
	onEachStream(t, func(cx *sched.Context, s *conn.Stream) error {
		if _, err := s.Peek(6); err != nil {
			return err
		}
		n, err := s.WriteTo(failing{3})
		if n != 3 || !errors.Is(err, errTest) {
			return fmt.Errorf("WriteTo: %d, %w", n, err)
		}
		p, err := s.Next(3)
		return want("Next", p, err, "def", nil)
	}, func(t *testing.T, c net.Conn, done <-chan error) {
		write(t, c, "abcdef")
		require.NoError(t, conntest.Receive(t, done))
	})
}

// A failing takes so many bytes of a write, and fails.
type failing struct{ n int }

func (l failing) Write([]byte) (int, error) { return l.n, errTest }

// The bytes of a closed connection may be in use still, in the task that has peeked.
func TestBytesInPlaceOutlastAClose(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		f.task(func(cx *sched.Context) error {
			s, err := f.dialStream(cx)
			if err != nil {
				return err
			}
			if _, err := s.Write([]byte("mine")); err != nil {
				return err
			}
			p, err := s.Peek(4)
			if err != nil {
				return err
			}
			_ = s.Close()
			other, err := f.dialStream(cx)
			if err != nil {
				return err
			}
			defer other.Close()
			if _, err := other.Write([]byte("another")); err != nil {
				return err
			}
			q, err := other.Peek(7)
			return errors.Join(want("Peek", q, err, "another", nil), want("closed", p, nil, "mine", nil))
		})
	})
}

func TestAStreamThatIsNotBoundIsNotReadInPlace(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 1, funcs{data: echo})
		s := conn.NewStream()
		_, err := f.Dial(f.addr, s.Handler())
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Peek(1)
		require.ErrorContains(t, err, "Bind")
		_, err = s.Discard(1)
		require.ErrorContains(t, err, "Bind")
	})
}

// The peer reads once nothing moves any more. By then other bytes have arrived where those lay
// that the Write was given.
func TestAWriteOfBytesInPlaceMayWait(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const high, rounds = 8 << 10, 16
		f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
			for {
				p, err := s.Next(-1)
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
				if _, err := s.Write(p); err != nil {
					return err
				}
			}
		}, func(cfg *conn.Config) { cfg.HighWater, cfg.MaxRead = high, 1<<20 })
		c := f.dial()
		wrote := make(chan error, 1)
		go func() {
			for range rounds {
				if _, err := c.Write(noise); err != nil {
					wrote <- err
					return
				}
			}
			wrote <- c.(*net.TCPConn).CloseWrite()
		}()
		conntest.Eventually(t, func() bool {
			for i := range f.Connections() {
				return i.Sent > 1<<20 && i.Received > i.Sent+high
			}
			return false
		})
		got := make([]byte, len(noise))
		for range rounds {
			_, err := io.ReadFull(c, got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(noise, got))
		}
		require.NoError(t, conntest.Receive(t, wrote))
	})
}
