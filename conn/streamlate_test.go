package conn_test

import (
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

// A deadline that passes while the others of the stream run, after who waits for it has
// looked, is told all the same.
func TestADeadlineThatPassesDuringATurnIsTold(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		told := make(chan error, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			begun, computed := time.Now(), false
			s.Go(func(cx *sched.Context) error {
				_, err := sched.Await(cx, sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) {
					if !computed && time.Since(begun) > 5*time.Millisecond {
						computed = true
						time.Sleep(60 * time.Millisecond) // the deadlines pass
					}
					return struct{}{}, sched.ErrPending
				}))
				return err
			})
			// The timer is set for the first one, and with that finds the second to come.
			_ = s.SetReadDeadline(begun.Add(10 * time.Millisecond))
			if _, err := sched.Await(cx, sched.Yield()); err != nil {
				return err
			}
			_ = s.SetReadDeadline(begun.Add(50 * time.Millisecond))
			_, err := s.Read(make([]byte, 1))
			told <- err
			return nil
		})
		_ = f.dial()
		require.ErrorIs(t, conntest.Receive(t, told), os.ErrDeadlineExceeded)
	})
}

// A stream does not read for as long as its function is busy with something else,
// however much may be written.
func TestAStreamThatDoesNotReadHoldsThePeerUp(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const total = 8 << 20 // an io_uring takes 2 MiB before the pause
		got := make(chan error, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			for s.Buffered() < 64<<10 {
				if err := sleep(cx, time.Millisecond); err != nil {
					return err
				}
			}
			if err := sleep(cx, 20*time.Millisecond); err != nil {
				return err
			}
			if n := s.Buffered(); n >= total/2 {
				got <- fmt.Errorf("%d bytes are unread", n)
				return nil
			}
			_, err := s.ReadFull(make([]byte, total))
			got <- err
			return err
		}, func(cfg *conn.Config) { cfg.HighWater, cfg.MaxRead = 1<<20, 128<<10 })
		c := f.dial()
		go func() { _, _ = c.Write(make([]byte, total)) }()
		require.NoError(t, conntest.Receive(t, got))
	})
}

// A panic that nobody joins is the stream's, also when its function returns nil later.
func TestAPanicThatNobodyJoinsIsNotLost(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, joins := range []bool{false, true} {
			f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
				b := s.Go(func(*sched.Context) error { panic("on a branch") })
				s.Go(func(*sched.Context) error { return errTest })
				if _, err := s.Read(make([]byte, 1)); err != nil {
					return err
				}
				var p *sched.PanicError
				if joins && !errors.As(b.Join(cx), &p) {
					t.Error("it has panicked")
				}
				return nil
			})
			c := f.dial()
			write(t, c, "x")
			_, _ = io.Copy(io.Discard, c)
			require.NoError(t, c.Close())
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
			if joins {
				require.Zero(t, f.log.Count("on a branch"))
			} else {
				require.Equal(t, 1, f.log.Count("on a branch"))
			}
		}
	})
}

// Abort ends a connection at once also when it was closed before, or its function has
// returned, and the peer takes none of the written bytes.
func TestAbortOfAStreamDoesNotWaitForItsClose(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, returns := range []bool{false, true} {
			streams := make(chan *conn.Stream, 1)
			f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
				for range 8 {
					if err := s.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
						return err
					}
					if _, err := s.Write(noise); err != nil {
						break
					}
				}
				if !returns {
					_ = s.Close()
				}
				streams <- s
				if returns {
					return nil
				}
				return sleep(cx, time.Hour)
			}, func(cfg *conn.Config) { cfg.LingerTimeout = time.Hour })
			_ = f.dial().(*net.TCPConn).SetReadBuffer(16 << 10)
			s := conntest.Receive(t, streams)
			time.Sleep(5 * time.Millisecond) // it may have returned by then
			s.Abort()
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
	})
}

// The connection of a stream, and one that is spliced, are not handed over.
func TestAStreamsConnectionIsNotHandedOver(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, echoStream)
		c := f.dial()
		write(t, c, "x")
		read(t, c, 1)
		errs := make(chan error, 1)
		for i := range f.Connections() {
			require.NoError(t, i.Handle.Do(func(c *conn.Conn) {
				errs <- c.PassTo(conn.Sequential(func(*sched.Context, *conn.Stream) error { return nil }))
			}))
		}
		require.ErrorIs(t, conntest.Receive(t, errs), conn.ErrSpliced)
		write(t, c, "still")
		require.Equal(t, "still", string(read(t, c, 5)))
	})
}
