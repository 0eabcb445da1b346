package conn_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

type contextKey string

// awaitContext waits for the end of a context, and returns its cause.
func awaitContext(t *testing.T, ctx context.Context) error {
	t.Helper()
	conntest.Receive(t, ctx.Done(), "the context does not end")
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	return context.Cause(ctx)
}

// waysToEnd are the ways in which a connection ends while its function waits for goOn.
var waysToEnd = map[string]struct {
	end  func(f *fixture, peer net.Conn, s *conn.Stream, goOn chan<- error)
	want error
}{
	"the peer resets it":            {func(_ *fixture, c net.Conn, _ *conn.Stream, _ chan<- error) { reset(c) }, syscall.ECONNRESET},
	"Handle.Close":                  {func(_ *fixture, _ net.Conn, s *conn.Stream, _ chan<- error) { _ = s.Handle().Close() }, net.ErrClosed},
	"Handle.Abort":                  {func(_ *fixture, _ net.Conn, s *conn.Stream, _ chan<- error) { _ = s.Handle().Abort() }, net.ErrClosed},
	"Stream.Close":                  {func(_ *fixture, _ net.Conn, s *conn.Stream, _ chan<- error) { _ = s.Close() }, net.ErrClosed},
	"Stream.Abort":                  {func(_ *fixture, _ net.Conn, s *conn.Stream, _ chan<- error) { s.Abort() }, net.ErrClosed},
	"Group.Abort":                   {func(f *fixture, _ net.Conn, _ *conn.Stream, _ chan<- error) { f.Abort() }, net.ErrClosed},
	"the function returns":          {func(_ *fixture, _ net.Conn, _ *conn.Stream, goOn chan<- error) { goOn <- nil }, net.ErrClosed},
	"the function returns an error": {func(_ *fixture, _ net.Conn, _ *conn.Stream, goOn chan<- error) { goOn <- errTest }, errTest},
}

func TestTheContextOfAConnectionEndsWithIt(t *testing.T) {
	for name, how := range waysToEnd {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				goOn, streams, contexts := make(chan error), make(chan *conn.Stream, 1), make(chan context.Context, 2)
				f := sequential(t, backend, 2, func(cx *sched.Context, s *conn.Stream) error {
					contexts <- s.Context()
					contexts <- cx
					streams <- s
					err, waitErr := sched.Await(cx, sched.Recv(goOn))
					return errors.Join(err, waitErr)
				})
				c := f.dial()
				s := conntest.Receive(t, streams)
				own, derived := <-contexts, <-contexts
				require.NoError(t, own.Err())
				require.NoError(t, derived.Err())
				require.Equal(t, own, s.Context(), "the same each time")
				how.end(f, c, s, goOn)
				cause := awaitContext(t, own)
				require.ErrorIs(t, conn.Portable(cause), how.want)
				if of := awaitContext(t, derived); !strings.HasPrefix(name, "the function") {
					require.Equal(t, cause, of, "the connection's end, not the function's")
				}
				close(goOn)
				_ = c.Close()
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
				require.ErrorIs(t, awaitContext(t, s.Context()), net.ErrClosed)
				conntest.Eventually(t, func() bool { return f.Contexts() == 0 })
			})
		})
	}
}

// A function that blocks its worker in a call sees its contexts end all the same.
func TestAContextEndsWhileItsFunctionIsWithinACall(t *testing.T) {
	for name, end := range map[string]func(f *fixture, s *conn.Stream){
		"Handle.Close": func(_ *fixture, s *conn.Stream) { _ = s.Handle().Close() },
		"Handle.Abort": func(_ *fixture, s *conn.Stream) { _ = s.Handle().Abort() },
		"Stream.Close": func(_ *fixture, s *conn.Stream) { _ = s.Close() },
		"Group.Abort":  func(f *fixture, _ *conn.Stream) { f.Abort() },
	} {
		for _, made := range []string{"before", "after"} {
			t.Run(name+", made "+made+" it", func(t *testing.T) {
				conntest.Backends(t, func(t *testing.T, backend string) {
					within, goOn, causes := make(chan *conn.Stream, 1), make(chan struct{}), make(chan error, 1)
					f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
						if made == "before" {
							_ = cx.Done()
						}
						within <- s
						<-goOn
						<-cx.Done()
						causes <- context.Cause(cx)
						return nil
					})
					c := f.dial()
					end(f, conntest.Receive(t, within))
					close(goOn)
					require.ErrorIs(t, conntest.Receive(t, causes), net.ErrClosed)
					_ = c.Close()
				})
			})
		}
	}
}

// The function of a Branch has a context that ends with the connection, and with the branch.
// The function asks for the first time after the connection has broken.
func TestAContextOfABrokenConnectionHasEnded(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		causes := make(chan error, 2)
		f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
			_, err := s.Read(make([]byte, 1))
			causes <- context.Cause(cx)
			causes <- context.Cause(s.Context())
			return err
		})
		reset(f.dial())
		for range 2 {
			requireReset(t, conntest.Receive(t, causes))
		}
		conntest.Eventually(t, func() bool { return f.Contexts() == 0 })
	})
}

func TestABranchHasAContextOfItsOwn(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		contexts := make(chan context.Context, 2)
		f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
			contexts <- cx
			err := s.Go(func(cx *sched.Context) error {
				contexts <- cx
				return nil
			}).Join(cx)
			if err == nil {
				_, err = s.Read(make([]byte, 1))
			}
			return err
		})
		c := f.dial()
		function, branch := conntest.Receive(t, contexts), conntest.Receive(t, contexts)
		awaitContext(t, branch)
		require.NoError(t, function.Err())
		reset(c)
		awaitContext(t, function)
	})
}

func TestADialedStreamsContextEndsWithItsConnection(t *testing.T) {
	for name, how := range map[string]struct {
		end  func(s *conn.Stream, peer conn.Handle)
		want error
	}{
		"Stream.Close":       {func(s *conn.Stream, _ conn.Handle) { _ = s.Close() }, net.ErrClosed},
		"Stream.Abort":       {func(s *conn.Stream, _ conn.Handle) { s.Abort() }, net.ErrClosed},
		"Handle.Abort":       {func(s *conn.Stream, _ conn.Handle) { _ = s.Handle().Abort() }, net.ErrClosed},
		"the peer resets it": {func(_ *conn.Stream, peer conn.Handle) { _ = peer.Abort() }, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				peers := make(chan conn.Handle, 1)
				f := serve(t, backend, 2, funcs{open: func(c *conn.Conn) error { peers <- c.Handle(); return nil }})
				s := conn.NewStream()
				require.Error(t, s.Context().Err(), "before it is established")
				_, err := f.Dial(f.addr, s.Handler())
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
				defer cancel()
				require.NoError(t, s.Socket().WaitOpen(ctx))
				own := s.Context()
				require.NoError(t, own.Err())
				require.Equal(t, own, s.Socket().Context())
				require.Equal(t, own, s.Handle().Context())
				how.end(s, conntest.Receive(t, peers))
				require.ErrorIs(t, conn.Portable(awaitContext(t, own)), how.want)
				_ = s.Close()
				require.Error(t, s.Context().Err())
			})
		})
	}
}

// Callbacks have the context of their connection: a goroutine that works for one ends with it.
func TestTheContextOfACallbackEndsWithItsConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		contexts, late := make(chan context.Context, 10), make(chan context.Context, 10)
		f := serve(t, backend, 1, funcs{
			data: func(c *conn.Conn) error {
				contexts <- c.Context()
				p, _ := c.Next(-1)
				if string(p) == "close" {
					assert.NoError(t, c.Context().Err())
					_ = c.Close()
					assert.Equal(t, net.ErrClosed, context.Cause(c.Context()))
				}
				return nil
			},
			close: func(c *conn.Conn, _ error) { late <- c.Context() },
		})
		for _, text := range []string{"reset", "close"} {
			c := f.dial()
			write(t, c, text)
			ctx := conntest.Receive(t, contexts)
			if text == "reset" {
				require.NoError(t, ctx.Err())
				reset(c)
			}
			cause := awaitContext(t, ctx)
			_ = c.Close()
			after := conntest.Receive(t, late)
			require.Error(t, after.Err())
			if text == "reset" {
				require.ErrorIs(t, conn.Portable(cause), syscall.ECONNRESET)
				require.ErrorIs(t, context.Cause(after), cause)
			}
		}
		conntest.Eventually(t, func() bool { return f.Contexts() == 0 })
	})
}

func TestTheContextOfAConnectionHasTheValuesOfTheServer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		base, cancel := context.WithCancelCause(context.WithValue(context.Background(), contextKey("base"), "base"))
		values, ended := make(chan any, 2), make(chan error, 1)
		f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
			ctx := cx
			values <- ctx.Value(contextKey("base"))
			values <- ctx.Value(contextKey("peer"))
			_, err := sched.Await(cx, sched.Done(ctx))
			ended <- context.Cause(ctx)
			assert.Error(t, s.Context().Err(), "it goes on without its parent")
			if err == nil {
				_, err = s.Write([]byte("still open"))
			}
			return err
		}, func(cfg *conn.Config) {
			cfg.BaseContext = base
			cfg.ConnContext = func(ctx context.Context, h conn.Handle) context.Context {
				return context.WithValue(ctx, contextKey("peer"), fmt.Sprint(h.RemoteAddr()))
			}
		})
		c := f.dial()
		require.Equal(t, "base", conntest.Receive(t, values))
		require.Equal(t, c.LocalAddr().String(), conntest.Receive(t, values))
		cancel(errTest)
		require.Equal(t, errTest, conntest.Receive(t, ended))
		require.Equal(t, "still open", string(readEOF(t, c)))
	})
}

// A goroutine may make the context after the connection has looked for one to end, and before it
// forgets it.
func TestAContextThatIsForgottenEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		c := conn.Idle(f.Group)
		ctx := c.Context()
		require.NoError(t, ctx.Err())
		c.DropContext()
		require.Equal(t, net.ErrClosed, awaitContext(t, ctx))
		require.Zero(t, f.Contexts())
	})
}

// Goroutines ask for the context of a connection that is about to end.
func TestAContextMadeWhileItsConnectionEndsHasAnEnd(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		streams := make(chan *conn.Stream)
		f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := s.Read(make([]byte, 1))
			return err
		})
		for i := range 60 {
			c := f.dial()
			s := conntest.Receive(t, streams)
			contexts := make(chan context.Context, 4)
			for range cap(contexts) {
				go func() { contexts <- s.Handle().Context() }()
			}
			switch i % 4 {
			case 0:
				reset(c)
			case 1:
				_ = s.Handle().Close()
			case 2:
				_ = s.Close()
			default:
				write(t, c, "x")
			}
			for range cap(contexts) {
				awaitContext(t, conntest.Receive(t, contexts))
			}
			_ = c.Close()
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		conntest.Eventually(t, func() bool { return f.Contexts() == 0 })
	})
}

func TestClosingTheGroupEndsTheContextsOfItsConnections(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 1})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		s, err := g.DialSocketContext(t.Context(), ln.Addr())
		require.NoError(t, err)
		ctx := s.Context()
		require.NoError(t, ctx.Err())
		require.NoError(t, g.Close())
		require.ErrorIs(t, awaitContext(t, ctx), net.ErrClosed)
		require.Error(t, s.Bind(nil).Handle().Context().Err(), "made after that")
	})
}

// A context with a deadline bounds the wait of a task for bytes, and takes none.
func TestAContextsDeadlineEndsAWaitForBytes(t *testing.T) {
	exchange := func(cx *sched.Context, s *conn.Stream) error {
		ctx, cancel := context.WithTimeout(cx, time.Millisecond)
		defer cancel()
		if _, err := sched.Await(cx, sched.WithContext(ctx, s.Readable())); err != context.DeadlineExceeded {
			return fmt.Errorf("after a deadline: %v", err)
		}
		if _, err := s.Write([]byte("go on")); err != nil {
			return err
		}
		ctx, cancel = context.WithTimeout(cx, time.Hour)
		defer cancel()
		if _, err := sched.Await(cx, sched.WithContext(ctx, s.Readable())); err != nil {
			return fmt.Errorf("with bytes: %w", err)
		}
		p := make([]byte, 5)
		if _, err := s.ReadFull(p); err != nil || string(p) != "bytes" {
			return fmt.Errorf("read %q, %w", p, err)
		}
		return nil
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		results := make(chan error, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			err := exchange(cx, s)
			results <- err
			return err
		})
		c := f.dial()
		require.Equal(t, "go on", string(read(t, c, 5)))
		write(t, c, "bytes")
		require.NoError(t, conntest.Receive(t, results))

		g := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			if p, err := c.Next(5); err == nil && string(p) == "go on" {
				_, err := c.Write([]byte("bytes"))
				return err
			}
			return nil
		}})
		g.task(func(cx *sched.Context) error {
			s, err := g.dialStream(cx)
			if err != nil {
				return err
			}
			return errors.Join(exchange(cx, s), s.Close())
		})
	})
}

func BenchmarkContextOfAConnection(b *testing.B) {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	require.NoError(b, err)
	defer g.Close()
	c := conn.Idle(g)
	b.ReportAllocs()
	for range b.N {
		c.Context()
		c.DropContext()
	}
}
