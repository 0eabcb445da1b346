package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// dialStream connects to the fixture from a task.
func (f *fixture) dialStream(cx *sched.Context) (*conn.Stream, error) {
	s := conn.NewStream()
	if _, err := f.Dial(f.addr, s.Handler()); err != nil {
		return nil, err
	}
	return s.Bind(cx), nil
}

// task runs fn as a task, and fails the test with its error.
func (f *fixture) task(fn func(cx *sched.Context) error) {
	f.t.Helper()
	require.NoError(f.t, f.tasks(fn))
}

// tasks runs functions as tasks, which begin on different workers, and returns their errors.
func (f *fixture) tasks(fns ...func(cx *sched.Context) error) error {
	all := make(chan *sched.JoinHandle[struct{}], len(fns))
	for i, fn := range fns {
		f.on(i%f.Runtime().Workers(), func(cx *sched.Context) {
			all <- sched.Go(cx, func(cx *sched.Context) (struct{}, error) { return struct{}{}, fn(cx) })
		})
	}
	var errs []error
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	for range fns {
		_, err := conntest.Receive(f.t, all).Wait(ctx)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// The order of what its tasks write is that in which they write, whichever of them does.
func TestAHandlersStreamIsUsedByOtherTasks(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const rounds = 200
		streams := make(chan *conn.Stream, 1)
		there, thereRx := chanx.NewBounded[int](1)
		back, backRx := chanx.NewBounded[int](1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			streams <- s
			p := make([]byte, 4)
			for i := range rounds {
				if _, err := s.ReadFull(p); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(s, "<%s%04d", p, i); err != nil {
					return err
				}
				if err := there.Send(cx, i); err != nil {
					return err
				}
				if _, err := backRx.Recv(cx); err != nil {
					return err
				}
			}
			return nil
		})
		c := f.dial()
		s := conntest.Receive(t, streams)
		go func() {
			for i := range 2 * rounds {
				if _, err := fmt.Fprintf(c, "%04d", i); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		f.task(func(cx *sched.Context) error {
			s := s.Bind(cx)
			p := make([]byte, 4)
			for {
				i, err := thereRx.Recv(cx)
				if err == nil {
					_, err = s.ReadFull(p)
				}
				if err == nil {
					_, err = fmt.Fprintf(s, "%s%04d>", p, i)
				}
				if err == nil {
					err = back.Send(cx, i)
				}
				if err != nil || i == rounds-1 {
					return err
				}
			}
		})
		want := new(bytes.Buffer)
		for i := range rounds {
			fmt.Fprintf(want, "<%04d%04d%04d%04d>", 2*i, i, 2*i+1, i)
		}
		require.Equal(t, want.String(), string(readEOF(t, c)))
	})
}

// A stream goes from task to task after any number of bytes.
func TestAStreamIsBoundAgainInTheMiddleOfAMessage(t *testing.T) {
	for _, kind := range []string{"dialed", "a handler's"} {
		t.Run(kind, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				streams, over := make(chan *conn.Stream, 1), make(chan struct{})
				t.Cleanup(func() { close(over) })
				var f *fixture
				if kind == "dialed" {
					f = serve(t, backend, workers, funcs{open: func(c *conn.Conn) error {
						_, err := c.Write(noise)
						return errors.Join(err, c.CloseWrite())
					}})
					s := conn.NewStream()
					_, err := f.Dial(f.addr, s.Handler())
					require.NoError(t, err)
					streams <- s
				} else {
					f = sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
						p := make([]byte, 1000)
						if _, err := s.ReadFull(p); err != nil || !bytes.Equal(p, noise[:1000]) {
							return fmt.Errorf("the first bytes: %v", err)
						}
						streams <- s
						_, err := sched.Await(cx, s.Closed())
						return err
					})
					c := f.dial()
					go func() {
						_, _ = c.Write(noise)
						_ = c.(*net.TCPConn).CloseWrite()
					}()
				}
				tx, rx := chanx.NewBounded[*conn.Stream](1)
				s := conntest.Receive(t, streams)
				require.NoError(t, tx.Send(t.Context(), s))
				got := make([]byte, 0, len(noise))
				if kind != "dialed" {
					got = append(got, noise[:1000]...)
				}
				read := func(seed uint64) func(cx *sched.Context) error {
					return func(cx *sched.Context) error {
						r := rand.New(rand.NewPCG(seed, 0))
						for {
							s, err := rx.Recv(cx)
							if err != nil {
								return nil // another one has seen the end
							}
							s = s.Bind(cx)
							p := make([]byte, 1+r.IntN(20000))
							n, err := s.Read(p)
							got = append(got, p[:n]...)
							if err == io.EOF {
								tx.Close()
								return s.Close()
							}
							if err == nil {
								err = tx.Send(cx, s)
							}
							if err != nil {
								return err
							}
						}
					}
				}
				require.NoError(t, f.tasks(read(1), read(2), read(3)))
				require.True(t, bytes.Equal(got, noise), "%d bytes of %d", len(got), len(noise))
			})
		})
	}
}

// A close from elsewhere, a deadline, and an abort of the task end its waits.
func TestWaitsOfATaskEnd(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: func(*conn.Conn) error { return nil }}, func(cfg *conn.Config) {
			cfg.MaxRead = 1 << 30
		})
		f.addr = silent(t)
		waits := map[string]func(s *conn.Stream) error{
			"read": func(s *conn.Stream) error {
				_, err := s.Read(make([]byte, 10))
				return err
			},
			"write": func(s *conn.Stream) error {
				for {
					if _, err := s.Write(noise); err != nil {
						return err
					}
				}
			},
		}
		for name, wait := range waits {
			for _, end := range []struct {
				name string
				by   func(s *conn.Stream, h *sched.JoinHandle[struct{}])
				want error
			}{
				{"Close", func(s *conn.Stream, _ *sched.JoinHandle[struct{}]) { _ = s.Close() }, net.ErrClosed},
				{"Abort", func(s *conn.Stream, _ *sched.JoinHandle[struct{}]) { s.Abort() }, net.ErrClosed},
				{"a deadline", func(s *conn.Stream, _ *sched.JoinHandle[struct{}]) { _ = s.SetDeadline(time.Now()) }, os.ErrDeadlineExceeded},
				{"an abort of the task", func(_ *conn.Stream, h *sched.JoinHandle[struct{}]) { h.Abort() }, sched.ErrCanceled},
			} {
				t.Run(name+", "+end.name, func(t *testing.T) {
					began, ended := make(chan *conn.Stream, 1), make(chan error, 1)
					h := sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
						s, err := f.dialStream(cx)
						if err != nil {
							ended <- err
							return struct{}{}, err
						}
						began <- s
						ended <- wait(s)
						return struct{}{}, nil
					})
					s := conntest.Receive(t, began)
					conntest.Eventually(t, func() bool { return conn.Waits(s) })
					end.by(s, h)
					require.ErrorIs(t, conntest.Receive(t, ended), end.want)
					s.Abort()
				})
			}
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// silent is the address of a listener that accepts and reads nothing.
func silent(t *testing.T) net.Addr {
	t.Helper()
	ln := conntest.Listen(t)
	return ln.Addr()
}

func TestAStreamThatIsNotBoundSaysWhatToDo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 1, funcs{data: echo})
		var bound *conn.Stream
		f.task(func(cx *sched.Context) (err error) {
			bound, err = f.dialStream(cx)
			return err
		})
		for name, s := range map[string]*conn.Stream{"of a task that has ended": bound, "of none": bound.Bind(nil)} {
			_, err := s.Read(make([]byte, 1))
			require.ErrorContains(t, err, "Bind(cx)", name)
			_, err = s.Write([]byte("x"))
			require.ErrorContains(t, err, "Socket()", name)
		}
		k := bound.Socket() // for this goroutine
		_, err := k.Write([]byte("x"))
		require.NoError(t, err)
		require.Equal(t, "x", string(read(t, k, 1)))
		require.NoError(t, bound.Close())
		require.ErrorIs(t, bound.Close(), net.ErrClosed)
	})
}

// The functions of a task are not each other's: each binds the stream for itself.
func TestAFunctionCannotUseTheStreamOfAnother(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		errs := make(chan error, 2)
		silents := make(chan *fixture, 1)
		f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
			other, err := (<-silents).dialStream(cx)
			if err != nil {
				return err
			}
			b := s.Go(func(cx *sched.Context) error {
				_, err := other.Read(make([]byte, 1))
				errs <- err
				_ = other.SetReadDeadline(time.Now())
				_, err = other.Bind(cx).Read(make([]byte, 1))
				errs <- err
				return nil
			})
			_ = b.Join(cx)
			other.Abort()
			return nil
		})
		silents <- &fixture{Group: f.Group, addr: silent(t)}
		f.dial()
		require.ErrorContains(t, conntest.Receive(t, errs), "Bind(cx)")
		require.ErrorIs(t, conntest.Receive(t, errs), os.ErrDeadlineExceeded)
	})
}

// A close from anywhere, at any moment, ends the reads, writes and dials of all tasks.
func TestClosesRaceWithWhatTasksDo(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo}, func(c *conn.Config) { c.LingerTimeout = 100 * time.Millisecond })
		ended := func(err error) error {
			if err == io.EOF || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		for i := range 50 {
			shared := conn.NewStream()
			_, err := f.Dial(f.addr, shared.Handler())
			require.NoError(t, err)
			require.NoError(t, f.tasks(
				func(cx *sched.Context) error {
					_, err := io.Copy(io.Discard, shared.Bind(cx))
					return ended(err)
				},
				func(cx *sched.Context) error {
					for s := shared.Bind(cx); ; {
						if _, err := s.Write(noise[:rand.IntN(30_000)]); err != nil {
							return ended(err)
						}
					}
				},
				func(cx *sched.Context) error {
					for range rand.IntN(i + 1) { // the first ones close during the dial
						if _, err := sched.Await(cx, sched.Yield()); err != nil {
							return err
						}
					}
					if i%2 == 0 {
						return shared.Close()
					}
					shared.Abort()
					return nil
				},
				func(cx *sched.Context) error {
					_, err := sched.Await(cx, shared.Closed())
					return err
				}))
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// The bytes that are queued when a connection becomes shared go before those of other tasks.
func TestQueuedBytesGoBeforeThoseOfOthers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		streams := make(chan *conn.Stream, 1)
		f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := sched.Await(cx, s.Closed())
			return err
		})
		for range 20 {
			c := f.dial()
			s := conntest.Receive(t, streams)
			release := f.stick(0)
			began := make(chan struct{})
			require.NoError(t, s.Handle().Do(func(c *conn.Conn) { _, _ = c.Write([]byte("a")) }))
			k := s.Socket()
			wrote := make(chan error, 1)
			go func() {
				close(began)
				_, err := k.Write([]byte("b"))
				wrote <- err
			}()
			<-began
			require.NoError(t, s.Handle().Do(func(*conn.Conn) {
				if err := conntest.Receive(t, wrote); err != nil { // the write does not wait for the run
					t.Error(err)
				}
			}))
			release()
			require.Equal(t, "ab", string(read(t, c, 2)))
			require.NoError(t, s.Close())
		}
	})
}
