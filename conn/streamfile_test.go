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

// eachKindOfStream calls fn with a Stream of each kind, in a function that may wait in it, and with
// the peer.
func eachKindOfStream(t *testing.T, backend string, workers int, fn func(s *conn.Stream) error, peer func(c *net.TCPConn)) {
	t.Helper()
	ended := make(chan error, 1)
	for _, kind := range []string{"a handler's", "a handler's, shared", "dialed"} {
		t.Run(kind, func(t *testing.T) {
			f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
				if kind == "a handler's, shared" {
					s.Socket()
				}
				ended <- fn(s)
				return nil
			})
			if kind != "dialed" {
				peer(f.dial().(*net.TCPConn))
			} else {
				ln := silentTCP(t)
				s := dialTo(f, ln)
				sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
					ended <- fn(s.Bind(cx))
					return struct{}{}, s.Close()
				}).Detach()
				peer(acceptTCP(t, ln))
			}
			require.NoError(t, conntest.Receive(t, ended))
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		})
	}
}

// The bytes of files keep their place between other writes, however they are sent.
func TestStreamsSendFilesInOrderWithWrites(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 5 << 20 // several steps
		path := file(t, n).Name()
		eachKindOfStream(t, backend, workers, func(s *conn.Stream) error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			_, err = io.WriteString(s, "before ")
			sent, ferr := s.SendFile(f, 0, -1)
			half, herr := s.SendFile(f, n/2, 1000)
			none, nerr := s.SendFile(f, n, -1)
			if sent != n || half != 1000 || none != 0 {
				return fmt.Errorf("sent %d, %d and %d: %w", sent, half, none, errors.Join(ferr, herr, nerr))
			}
			_, werr := io.WriteString(s, " between ")
			_, serr := f.Seek(n-10, io.SeekStart)
			copied, cerr := io.Copy(s, f)
			at, _ := f.Seek(0, io.SeekCurrent)
			if copied != 10 || at != n {
				return fmt.Errorf("copied %d, and the file is at %d: %w", copied, at, cerr)
			}
			_, lerr := io.WriteString(s, " after")
			return errors.Join(err, ferr, herr, nerr, werr, serr, cerr, lerr, f.Close(), s.CloseWrite())
		}, func(c *net.TCPConn) {
			require.Equal(t, "before ", string(read(t, c, 7)))
			_, err := io.CopyN(newPattern(1), c, n)
			require.NoError(t, err)
			half := newPattern(1)
			_, _ = io.CopyN(io.Discard, half, n/2)
			_, err = io.CopyN(half, c, 1000)
			require.NoError(t, err)
			require.Equal(t, " between ", string(read(t, c, 9)))
			_, _ = io.CopyN(io.Discard, half, n-n/2-1000-10)
			_, err = io.CopyN(half, c, 10)
			require.NoError(t, err)
			require.Equal(t, " after", string(readEOF(t, c)))
			_ = c.Close()
		})
	})
}

// A Stream that sends a file to a peer which sends as much, and reads later, receives meanwhile.
func TestAFileOnItsWayHoldsUpNoReads(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 3 << 20
		path := file(t, n).Name()
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			read := s.Go(func(*sched.Context) error {
				_, err := io.CopyN(newPattern(1), s, n)
				return err
			})
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = s.SendFile(f, 0, -1)
			return errors.Join(err, read.Join(cx))
		}, func(cfg *conn.Config) { cfg.HighWater = 64 << 10 })
		c := f.dial().(*net.TCPConn)
		require.NoError(t, c.SetReadBuffer(64<<10))
		_, err := io.CopyN(c, newPattern(1), n) // before it reads
		require.NoError(t, err)
		_, err = io.CopyN(newPattern(1), c, n)
		require.NoError(t, err)
		require.Empty(t, readEOF(t, c))
	})
}

func TestSendFileOfAStreamFails(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		path, dir := file(t, 100).Name(), t.TempDir()
		eachKindOfStream(t, backend, workers, func(s *conn.Stream) error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			d, err := os.Open(dir)
			if err != nil {
				return err
			}
			defer d.Close()
			if _, err = s.SendFile(f, 50, 51); !errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("too many bytes: %w", err)
			}
			if _, err = s.SendFile(d, 0, -1); !errors.Is(err, errors.ErrUnsupported) {
				return fmt.Errorf("no regular file: %w", err)
			}
			if _, err := io.WriteString(s, "nothing of that"); err != nil {
				return err
			}
			_ = s.SetWriteDeadline(time.Now())
			if _, err = s.SendFile(f, 0, -1); !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("a deadline: %w", err)
			}
			_ = s.SetWriteDeadline(time.Time{})
			if err := s.CloseWrite(); err != nil {
				return err
			}
			if _, err = s.SendFile(f, 0, -1); err == nil {
				return errors.New("it sends after CloseWrite")
			}
			return nil
		}, func(c *net.TCPConn) {
			require.Equal(t, "nothing of that", string(readEOF(t, c)))
			_ = c.Close()
		})
	})
}

// An abort of the task, a deadline or Close ends a SendFile to a peer that takes nothing.
func TestASendFileThatWaitsEnds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		path := file(t, 64<<20).Name()
		f := newFixture(t, backend, workers)
		ln := silentTCP(t)
		for name, end := range map[string]struct {
			by   func(s *conn.Stream, h *sched.JoinHandle[int64])
			want error
		}{
			"an abort":   {func(_ *conn.Stream, h *sched.JoinHandle[int64]) { h.Abort() }, sched.ErrCanceled},
			"a deadline": {func(s *conn.Stream, _ *sched.JoinHandle[int64]) { _ = s.SetWriteDeadline(time.Now()) }, os.ErrDeadlineExceeded},
			"Close":      {func(s *conn.Stream, _ *sched.JoinHandle[int64]) { _ = s.Close() }, net.ErrClosed},
		} {
			s := dialTo(f, ln)
			ended := make(chan error, 1)
			h := sched.Go(f.Runtime(), func(cx *sched.Context) (int64, error) {
				file, err := os.Open(path)
				if err != nil {
					return 0, err
				}
				defer file.Close()
				n, err := s.Bind(cx).SendFile(file, 0, -1)
				ended <- err
				return n, nil
			})
			c := acceptTCP(t, ln)
			conntest.Eventually(t, func() bool { return conn.Waits(s) })
			stuck := func() bool {
				before := taken(f)
				time.Sleep(20 * time.Millisecond) // long enough for something to move, if anything can
				return before > 0 && before == taken(f)
			}
			conntest.Eventually(t, stuck, name)
			end.by(s, h)
			require.ErrorIs(t, conntest.Receive(t, ended), end.want, name)
			s.Abort()
			_ = c.Close()
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
	})
}

// taken is how much the kernel has taken of the only connection.
func taken(f *fixture) uint64 {
	for i := range f.Connections() {
		return i.Sent
	}
	return 0
}
