package conn_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// sequential is a fixture whose connections are streams.
func sequential(t *testing.T, backend string, workers int, fn func(*sched.Context, *conn.Stream) error, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	f := newFixture(t, backend, workers, configure...)
	f.listenStreams(fn)
	return f
}

// listenStreams listens with a sequential handler until the end of the test.
func (f *fixture) listenStreams(fn func(*sched.Context, *conn.Stream) error) {
	f.t.Helper()
	f.listenTo(conn.Sequential(fn)) // a stream has no OnClose to be audited
}

func sleep(cx *sched.Context, d time.Duration) error {
	_, err := sched.Await(cx, sched.Sleep(d))
	return err
}

func echoStream(_ *sched.Context, s *conn.Stream) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := s.Read(buf)
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		if _, err := s.Write(buf[:n]); err != nil {
			return err
		}
	}
}

func TestSequentialHandlersEchoEveryByteInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, echoStream)
		conntest.Crowd(t, 50, 50, func(i int) error {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			c, err := dial(f.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			data := noise[r.IntN(1000):][:1+r.IntN(256<<10)]
			go func() {
				for rest := data; len(rest) > 0; {
					n := min(len(rest), 1+r.IntN(20000))
					if _, err := c.Write(rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err == nil && string(got) != string(data) {
				err = fmt.Errorf("%d bytes came back for %d", len(got), len(data))
			}
			return err
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// bufio, and whatever else speaks over a net.Conn, is none the wiser.
func TestStreamsRunBlockingCodeAsItIs(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			lines := bufio.NewScanner(s)
			for lines.Scan() {
				if lines.Text() == "sleep" {
					if err := sleep(cx, time.Millisecond); err != nil {
						return err
					}
				}
				if _, err := fmt.Fprintf(s, "%s, %s\n", lines.Text(), s.RemoteAddr()); err != nil {
					return err
				}
			}
			return lines.Err()
		})
		c := f.dial()
		in := bufio.NewReader(c)
		for _, word := range []string{"hello", "sleep", "again"} {
			write(t, c, word+"\n")
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%s, %s\n", word, c.LocalAddr()), line)
		}
	})
}

// A Stream asks for its own address when somebody wants it. Its functions find it until they have
// returned, after a reset too, and so do the errors that they get.
func TestAStreamKnowsItsAddressesUntilItsFunctionsReturn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		type end struct {
			local, later net.Addr
			err          error
		}
		ended := make(chan end, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			one := make([]byte, 1)
			if _, err := s.Read(one); err != nil {
				return err
			}
			e := end{}
			if one[0] == 'a' { // else the end comes first
				e.local = s.LocalAddr()
			}
			if _, err := s.Write(one); err != nil {
				return err
			}
			cx.Shield()
			_, err := sched.Await(cx, s.Closed())
			for range 3 { // the task runs, and closes the inbox
				_ = sleep(cx, time.Millisecond)
			}
			_, e.err = s.Read(one)
			e.later = s.LocalAddr()
			ended <- e
			return err
		})
		for _, first := range []string{"a", "b"} {
			c := f.dial()
			write(t, c, first)
			read(t, c, 1)
			want := c.RemoteAddr().String()
			reset(c)
			e := conntest.Receive(t, ended)
			if first == "a" {
				require.Equal(t, want, e.local.String())
			}
			require.NotNil(t, e.later)
			require.Equal(t, want, e.later.String())
			var oe *net.OpError
			require.ErrorAs(t, e.err, &oe)
			require.NotNil(t, oe.Source)
			require.Equal(t, want, oe.Source.String())
		}
	})
}

func TestHalfCloseOfStreams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) (err error) {
			defer func() {
				if err != nil {
					t.Error(err)
				}
			}()
			if _, err := s.Write([]byte("first")); err != nil {
				return err
			}
			if err := s.CloseWrite(); err != nil {
				return err
			}
			if _, err := s.Write([]byte("x")); err == nil {
				return errors.New("a write after CloseWrite")
			}
			got, err := io.ReadAll(s)
			if err != nil || string(got) != "then this" {
				return fmt.Errorf("read %q, %v", got, err)
			}
			return nil
		})
		c := f.dial()
		require.Equal(t, "first", string(readEOF(t, c)))
		write(t, c, "then this")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// Data that a function shares with those it has started needs no lock.
func TestChildrenReadAndWriteBesideTheirStreamsFunctionAndEndWithIt(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var ended atomic.Int32
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			lines := make([]string, 0)
			b := s.Go(func(*sched.Context) error {
				in := bufio.NewScanner(s)
				for in.Scan() {
					lines = append(lines, in.Text())
				}
				return in.Err()
			})
			s.Go(func(cx *sched.Context) error { // would go on for ever
				defer ended.Add(1)
				return sleep(cx, time.Hour)
			})
			s.Go(func(cx *sched.Context) error {
				defer ended.Add(1)
				_, err := s.Read(make([]byte, 1)) // in vain: the first one has it all
				return err
			})
			if _, err := s.Write([]byte("go")); err != nil {
				return err
			}
			if err := b.Join(cx); err != nil {
				return err
			}
			_, err := fmt.Fprint(s, lines)
			return err
		})
		c := f.dial()
		require.Equal(t, "go", string(read(t, c, 2)))
		write(t, c, "a\nb\n")
		write(t, c, "c\n")
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.Equal(t, "[a b c]", string(readEOF(t, c)))
		conntest.Eventually(t, func() bool { return f.Len() == 0 && ended.Load() == 2 })
	})
}

func TestAPanicOrErrorOfAStreamsFunctionEndsItsConnectionAlone(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			b := make([]byte, 1)
			if _, err := s.Read(b); err != nil {
				return err
			}
			switch b[0] {
			case 'p':
				panic("oh")
			case 'c':
				s.Go(func(*sched.Context) error { panic("a child") })
				return sleep(cx, time.Millisecond)
			case 'e':
				return errTest
			}
			_, err := s.Write(b)
			return err
		})
		other := f.dial()
		for _, what := range []string{"p", "c", "e"} {
			c := f.dial()
			write(t, c, what)
			_, _ = io.ReadAll(c)
			_ = c.Close()
		}
		write(t, other, "x")
		require.Equal(t, "x", string(readEOF(t, other)))
		_ = other.Close()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// A reset, an abort and a shutdown that has waited for long enough end what a function
// waits for, whatever it is; a shield puts that off.
func TestTheEndOfTheConnectionEndsWhatItsFunctionAwaits(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		errs := make(chan error, 4)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			b := make([]byte, 1)
			if _, err := s.Read(b); err != nil {
				return err
			}
			_, _ = s.Write(b)
			switch b[0] {
			case 'r':
				_, err := s.Read(b)
				errs <- err
			case 's':
				errs <- sleep(cx, time.Hour)
			case 'h':
				cx.Shield()
				err := sleep(cx, 20*time.Millisecond)
				cx.Unshield()
				errs <- errors.Join(err, sleep(cx, time.Hour))
			}
			return nil
		})
		for _, what := range []string{"r", "s", "h"} {
			c := f.dial()
			write(t, c, what)
			read(t, c, 1)
			if what == "r" {
				reset(c)
				require.Error(t, <-errs)
				continue
			}
			f.Group.Abort()
			require.ErrorIs(t, <-errs, sched.ErrCanceled)
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

func TestAFunctionCanSelectOverDataChannelsAndTimers(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		tx, rx := chanx.NewUnbounded[string]()
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			buf := make([]byte, 10)
			for {
				first, err := sched.Await(cx, sched.Select(sched.Any(s.Readable()),
					sched.Any(rx.RecvFuture()), sched.Any[struct{}](sched.Sleep(conntest.Patience))))
				if err != nil {
					return err
				}
				said, _ := first.Value.(string)
				switch first.Index {
				case 0:
					n, err := s.Read(buf)
					if err != nil {
						return err
					}
					said = string(buf[:n])
				case 2:
					return errors.New("nothing happened")
				}
				if _, err := s.Write([]byte(said)); err != nil {
					return err
				}
			}
		})
		c := f.dial()
		write(t, c, "a")
		require.Equal(t, "a", string(read(t, c, 1)))
		require.NoError(t, tx.Send(context.Background(), "told"))
		require.Equal(t, "told", string(read(t, c, 4)))
	})
}

func TestDrainingIsSeenByStreams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			if _, err := s.Write([]byte("up")); err != nil {
				return err
			}
			if _, err := sched.Await(cx, s.Draining()); err != nil {
				return err
			}
			_, err := s.Write([]byte("bye"))
			return err
		})
		c := f.dial()
		read(t, c, 2)
		f.Drain()
		require.Equal(t, "bye", string(readEOF(t, c)))
		_ = c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		require.NoError(t, f.Wait(ctx))
	})
}

// Elsewhere a stream cannot wait, and says so.
func TestAStreamUsedOutsideOfItsFunctionSaysSo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		streams := make(chan *conn.Stream, 1)
		f := sequential(t, backend, 1, func(_ *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := s.Read(make([]byte, 1))
			return err
		})
		c := f.dial()
		s := <-streams
		require.NoError(t, s.Close(), "that may be called from anywhere")
		require.ErrorIs(t, s.Close(), net.ErrClosed)
		require.Empty(t, readEOF(t, c))
		_ = c.Close()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
	})
}
