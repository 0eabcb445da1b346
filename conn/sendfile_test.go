package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// file is one of n bytes of the stream.
func file(t *testing.T, n int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	_, err = io.CopyN(f, newPattern(1), int64(n))
	require.NoError(t, err)
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	return f
}

func TestFilesAreSentInOrderWithWhatIsWritten(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, n := range []int{0, 1, 64 << 10, 50 << 20} {
			if n > 1<<20 && (testing.Short() || workers > 1) {
				n = 5 << 20
			}
			sent := make(chan error, 1)
			path := file(t, n).Name()
			f := serve(t, backend, workers, funcs{open: func(c *conn.Conn) error {
				c.NotifySent(func(err error) { sent <- err })
				f, err := os.Open(path)
				if err != nil {
					return err
				}
				defer f.Close() // before it is sent
				_, _ = c.WriteString("before ")
				if err := c.SendFile(f, 0, -1); err != nil {
					return err
				}
				_, _ = c.WriteString(" between ")
				_, _ = c.Write(append(c.AvailableBuffer(5), "twice"...))
				if err := c.SendFile(f, int64(n/2), int64(n-n/2)); err != nil {
					return err
				}
				_, _ = c.Writev([][]byte{[]byte(" af"), []byte("ter")})
				if want := 7 + n + 14 + n - n/2 + 6; c.Unsent() != want {
					return fmt.Errorf("%d bytes are unsent, not %d", c.Unsent(), want)
				}
				return c.CloseWrite()
			}})
			c := f.dial()
			require.Equal(t, "before ", string(read(t, c, 7)))
			_, err := io.CopyN(newPattern(1), c, int64(n))
			require.NoError(t, err)
			require.Equal(t, " between twice", string(read(t, c, 14)))
			half := newPattern(1)
			_, _ = io.CopyN(io.Discard, half, int64(n/2))
			_, err = io.CopyN(half, c, int64(n-n/2))
			require.NoError(t, err)
			require.Equal(t, " after", string(readEOF(t, c)))
			require.NoError(t, conntest.Receive(t, sent))
		}
	})
}

// While a file is on its way, what else asks for something waits, as for any queue.
func TestAFileOnItsWayHoldsUpTheHandlerAndNobodyElse(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 32 << 20
		path := file(t, n).Name()
		calls := make(chan conn.Handle, 100)
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			calls <- c.Handle()
			if p, _ := c.Next(-1); string(p) == "small" {
				_, err := c.WriteString("answer")
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return c.SendFile(f, 0, -1)
		}})
		c := f.dial()
		write(t, c, "file")
		h := conntest.Receive(t, calls)
		write(t, c, "file")
		conntest.Eventually(t, func() bool {
			for i := range f.Connections() {
				return i.Sent > 0 && i.Unsent > 1<<20
			}
			return false
		})
		settled(t, h)
		require.Empty(t, calls, "OnData above HighWater")
		other := f.dial()
		write(t, other, "small")
		require.Equal(t, "answer", string(read(t, other, 6)))
		conntest.Receive(t, calls)
		require.NoError(t, h.Send([]byte("after"))) // files are no memory
		_, err := io.CopyN(newPattern(1), c, n)
		require.NoError(t, err)
		require.Equal(t, "after", string(read(t, c, 5)))
		conntest.Receive(t, calls)
		_, err = io.CopyN(newPattern(1), c, n)
		require.NoError(t, err)
	})
}

func TestAPeerThatResetsWhileAFileIsSentEndsTheConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		path := file(t, 32<<20).Name()
		closed, tell := ends(1)
		sent := make(chan error, 1)
		f := serve(t, backend, workers, funcs{close: tell, open: func(c *conn.Conn) error {
			c.NotifySent(func(err error) { sent <- err })
			return sendPath(c, path)
		}})
		c := f.dial()
		read(t, c, 1<<20)
		reset(c)
		require.True(t, isReset(conntest.Receive(t, closed)))
		require.True(t, isReset(conntest.Receive(t, sent)))
	})
}

func sendPath(c *conn.Conn, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.SendFile(f, 0, -1)
}

func TestAFileThatIsTruncatedWhileItIsSentIsAReset(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		path := file(t, 32<<20).Name()
		closed, tell := ends(1)
		f := serve(t, backend, workers, funcs{close: tell, open: func(c *conn.Conn) error { return sendPath(c, path) }})
		c := f.dial()
		read(t, c, 1<<20)
		require.NoError(t, os.Truncate(path, 2<<20))
		n, err := io.Copy(io.Discard, c)
		requireReset(t, err)
		require.Less(t, n, int64(31<<20))
		err = conntest.Receive(t, closed)
		requireOpError(t, err, "write", io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "truncated")
	})
}

// The other side of WriteTimeout: as long as the peer takes some, it goes on.
func TestAFileIsWriteProgress(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		path := file(t, 32<<20).Name()
		conntest.Punctual(t, 400*time.Millisecond, func(limit time.Duration, alive func()) error {
			closed, tell := ends(2)
			idle := limit + limit/5
			f := serve(t, backend, 2, funcs{close: tell, open: func(c *conn.Conn) error {
				err := c.SetIdleTimeout(idle)
				idle = 0 // the next connection ends by WriteTimeout alone
				if err := errors.Join(err, sendPath(c, path)); err != nil {
					return err
				}
				return c.CloseWrite()
			}}, func(cfg *conn.Config) { cfg.WriteTimeout = limit })
			c := f.dial()
			s := newPattern(1)
			for range 32 { // takes longer than the time-outs
				if _, err := io.CopyN(s, c, 1<<20); err != nil {
					return err
				}
				alive()
				time.Sleep(limit / 25)
			}
			require.Empty(t, readEOF(t, c))
			require.NoError(t, c.Close())
			require.NoError(t, conntest.Receive(t, closed))

			c = f.dial()
			read(t, c, 1)
			err := conntest.Receive(t, closed) // it takes nothing any more
			requireOpError(t, err, "write", os.ErrDeadlineExceeded)
			return nil
		})
	})
}

func TestCloseSendsTheFilesFirstAndAbortDoesNot(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const n = 24 << 20
		path := file(t, n).Name()
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, 2, funcs{open: func(c *conn.Conn) error {
			for range 3 {
				if err := sendPath(c, path); err != nil {
					return err
				}
			}
			handles <- c.Handle()
			return nil
		}})
		c := f.dial()
		require.NoError(t, conntest.Receive(t, handles).Close())
		for range 3 {
			_, err := io.CopyN(newPattern(1), c, n)
			require.NoError(t, err)
		}
		require.Empty(t, readEOF(t, c))
		require.NoError(t, c.Close())
		c = f.dial()
		require.NoError(t, conntest.Receive(t, handles).Abort())
		_, err := io.Copy(io.Discard, c)
		requireReset(t, err)
	})
}

func TestWhatCannotBeSentAsAFileIsRefused(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		reg := file(t, 100)
		dir, err := os.Open(t.TempDir())
		require.NoError(t, err)
		defer dir.Close()
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		defer w.Close()
		gone := file(t, 1)
		require.NoError(t, gone.Close())
		checked := make(chan error, 1)
		f := serve(t, backend, 2, funcs{open: func(c *conn.Conn) error {
			for _, try := range []struct {
				f         *os.File
				offset, n int64
				want      error
			}{
				{reg, 0, 101, io.ErrUnexpectedEOF}, {reg, 99, 2, io.ErrUnexpectedEOF}, {reg, 101, -1, io.ErrUnexpectedEOF},
				{reg, -1, 1, io.ErrUnexpectedEOF}, {reg, 100, -1, nil}, {reg, 5, 0, nil},
				{dir, 0, -1, errors.ErrUnsupported}, {r, 0, -1, errors.ErrUnsupported}, {gone, 0, -1, fs.ErrClosed},
			} {
				if try.f == gone && runtime.GOOS == "windows" {
					continue // there package os does not say that it is closed
				}
				if err := c.SendFile(try.f, try.offset, try.n); !errors.Is(err, try.want) {
					checked <- fmt.Errorf("%s, %d at %d: %w", try.f.Name(), try.n, try.offset, err)
					return nil
				}
			}
			if c.Unsent() != 0 {
				checked <- errors.New("something was queued")
				return nil
			}
			var err error
			n := 0
			for ; err == nil && n < 1000; n++ {
				err = c.SendFile(reg, 0, 1)
			}
			if !errors.Is(err, conn.ErrWriteQueueFull) || n < 10 {
				checked <- fmt.Errorf("the %dth: %w", n, err)
				return nil
			}
			_ = c.Close()
			if err := c.SendFile(reg, 0, 1); !errors.Is(err, net.ErrClosed) {
				checked <- fmt.Errorf("after Close: %w", err)
				return nil
			}
			checked <- nil
			return nil
		}})
		c := f.dial()
		require.NoError(t, conntest.Receive(t, checked))
		require.NotEmpty(t, readEOF(t, c))
	})
}

func TestCopyToAConnectionSendsFilesAndCopiesTheRest(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 3 << 20
		path := file(t, n).Name()
		failed := make(chan error, 1)
		f := serve(t, backend, workers, funcs{open: func(c *conn.Conn) error {
			err := func() error {
				f, err := os.Open(path)
				if err != nil {
					return err
				}
				defer f.Close()
				if m, err := io.CopyN(c, f, 1000); m != 1000 || err != nil {
					return fmt.Errorf("the first bytes of a file: %d, %w", m, err)
				}
				if m, err := io.Copy(c, f); m != n-1000 || err != nil {
					return fmt.Errorf("the rest of a file: %d, %w", m, err)
				}
				if at, err := f.Seek(0, io.SeekCurrent); at != n || err != nil {
					return fmt.Errorf("the file is at %d, %w", at, err)
				}
				if m, err := c.ReadFrom(f); m != 0 || err != nil {
					return fmt.Errorf("the end of a file: %d, %w", m, err)
				}
				if m, err := io.Copy(c, struct{ io.Reader }{strings.NewReader("copied")}); m != 6 || err != nil {
					return fmt.Errorf("a reader: %d, %w", m, err)
				}
				if m, err := c.ReadFrom(&io.LimitedReader{R: bytes.NewReader(noise), N: 70000}); m != 70000 || err != nil {
					return fmt.Errorf("a limited reader: %d, %w", m, err)
				}
				if runtime.GOOS == "linux" {
					stat, err := os.Open("/proc/self/stat") // regular, and says that it is empty
					if err != nil {
						return err
					}
					defer stat.Close()
					if m, err := c.ReadFrom(stat); m == 0 || err != nil {
						return fmt.Errorf("a file of /proc: %d, %w", m, err)
					}
				}
				return c.CloseWrite()
			}()
			failed <- err
			return err
		}})
		c := f.dial()
		require.NoError(t, conntest.Receive(t, failed))
		_, err := io.CopyN(newPattern(1), c, n)
		require.NoError(t, err)
		require.Equal(t, "copied", string(read(t, c, 6)))
		require.True(t, bytes.Equal(noise[:70000], read(t, c, 70000)))
		if rest := readEOF(t, c); runtime.GOOS == "linux" {
			require.NotEmpty(t, rest)
		}
	})
}

func TestCopyingAReaderStopsAtMaxWrite(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		copied := make(chan int64, 1)
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			n, err := c.ReadFrom(struct{ io.Reader }{newPattern(1)}) // without end
			if !errors.Is(err, conn.ErrWriteQueueFull) {
				t.Errorf("%d, %v", n, err)
			}
			copied <- n
			return c.CloseWrite()
		}}, func(cfg *conn.Config) { cfg.MaxWrite = 1 << 20 })
		c := f.dial()
		n := conntest.Receive(t, copied)
		require.EqualValues(t, 1<<20, n)
		_, err := io.CopyN(newPattern(1), c, n)
		require.NoError(t, err)
		require.Empty(t, readEOF(t, c))
	})
}

// A file system without sendfile: the bytes are read and written.
func TestFilesThatTheKernelCannotSendAreRead(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 3<<20 + 17
		path := file(t, n).Name()
		f := serve(t, backend, workers, funcs{open: func(c *conn.Conn) error {
			for range 2 {
				_, _ = c.WriteString("here ")
				if err := sendPath(c, path); err != nil {
					return err
				}
			}
			c.ReadFiles()
			_, _ = c.WriteString("end")
			return c.CloseWrite()
		}})
		c := f.dial()
		for range 2 {
			require.Equal(t, "here ", string(read(t, c, 5)))
			_, err := io.CopyN(newPattern(1), c, n)
			require.NoError(t, err)
		}
		require.Equal(t, "end", string(readEOF(t, c)))
	})
}
