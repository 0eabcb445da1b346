package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// inTask runs fn as a task of the runtime and returns its error.
func inTask(t *testing.T, rt *sched.Runtime, fn func(cx *sched.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
	defer cancel()
	_, err := sched.Go(rt, func(cx *sched.Context) (struct{}, error) { return struct{}{}, fn(cx) }).Wait(ctx)
	return err
}

// exchangeStream writes text and reads it back.
func exchangeStream(s *server.Stream, text string) error {
	if _, err := io.WriteString(s, text); err != nil {
		return err
	}
	p := make([]byte, len(text))
	if _, err := s.ReadFull(p); err != nil || string(p) != text {
		return fmt.Errorf("got %q, %w", p, err)
	}
	return nil
}

// echoTasks accepts streams in a task, and echoes each in another one, until the listener closes.
func echoTasks(rt *sched.Runtime, l *server.StreamListener) {
	sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		for {
			s, err := l.Accept(cx)
			if err != nil {
				return struct{}{}, err
			}
			sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
				s := s.Bind(cx)
				err := echoStream(cx, s)
				return struct{}{}, errors.Join(err, s.Close())
			}).Detach()
		}
	}).Detach()
}

func TestTasksDialAndAcceptStreams(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS: %v", secure), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				s := &server.Server{Backend: backend, Workers: workers}
				c := newClient(t, backend, workers, false)
				if secure {
					s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
					c.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
				}
				l, err := s.ListenStream("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				echoTasks(s.Group().Runtime(), l)
				_, port, _ := net.SplitHostPort(l.Addr().String())
				c.names.hosts["localhost"] = []string{"127.0.0.1"}
				require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
					s, err := c.DialStream(cx, "tcp", "localhost:"+port)
					if err != nil {
						return err
					}
					if state := s.TLS(); (state != nil) != secure || s.TLS() != state {
						return fmt.Errorf("TLS: %v", state)
					}
					for range 20 {
						if err := exchangeStream(s, string(make([]byte, 100_000))); err != nil {
							return err
						}
					}
					if err := s.CloseWrite(); err != nil {
						return err
					}
					if _, err := s.Read(make([]byte, 1)); err != io.EOF {
						return fmt.Errorf("after the end: %w", err)
					}
					return s.Close()
				}))
				ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
				defer cancel()
				require.NoError(t, s.Shutdown(ctx))
				require.ErrorIs(t, l.Close(), net.ErrClosed)
			})
		})
	}
}

func TestADialOfAStreamFailsAsOthersDo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		c := newClient(t, backend, 2, false)
		refusing := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		for _, d := range []struct {
			addr string
			want error
		}{
			{refusing.Addr().String(), syscall.ECONNREFUSED},
			{"127.0.0.1:99999", nil},
			{"nowhere:1", nil},
		} {
			err := inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
				_, err := c.DialStream(cx, "tcp", d.addr)
				return err
			})
			requireOpError(t, err, "dial", err)
			if d.want != nil {
				require.ErrorIs(t, conn.Portable(err), d.want)
			}
		}
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t)
		err := inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
			_, err := sched.Await(cx, sched.Timeout(time.Millisecond, c.DialStreamFuture("tcp", hole.Addr().String())))
			return err
		})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		conntest.Eventually(t, func() bool { return c.group.Len() == 0 })
	})
}

// A pooled stream is used by one task after the other.
func TestTasksGetPooledStreams(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS: %v", secure), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				up := &server.Server{Handler: echo{}, Backend: backend}
				if secure {
					up.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
				}
				s := run(t, up)
				c := newClient(t, backend, workers, false)
				if secure {
					c.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
				}
				p := &server.Pool{Dialer: c.Dialer, MaxConns: 1}
				for i := range 10 {
					require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
						s, err := p.GetStream(cx, "tcp", s.addr.String())
						if err != nil {
							return err
						}
						if err := exchangeStream(s, fmt.Sprintf("use %d", i)); err != nil {
							return err
						}
						p.PutStream(s)
						if _, err := s.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
							return fmt.Errorf("a read after PutStream: %w", err)
						}
						return nil
					}))
				}
				require.Equal(t, uint64(1), p.Stats().Dials)
				require.NoError(t, p.Close())
			})
		})
	}
}

// A swept is a proxy of one connection, whose task is aborted at one of its awaits.
type swept struct {
	l     *server.StreamListener
	d     *server.Dialer
	to    string
	at    int32 // the await
	after int   // so many yields of another task after it has begun
	count atomic.Int32
	abort func()
}

func (p *swept) await(cx *sched.Context) {
	if p.count.Add(1) != p.at {
		return
	}
	sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
		for range p.after {
			if _, err := sched.Await(cx, sched.Yield()); err != nil {
				return struct{}{}, err
			}
		}
		p.abort()
		return struct{}{}, nil
	}).Detach()
}

func (p *swept) serve(cx *sched.Context) error {
	p.await(cx)
	client, err := p.l.Accept(cx)
	if err != nil {
		return err
	}
	defer client.Close()
	p.await(cx)
	up, err := p.d.DialStream(cx, "tcp", p.to)
	if err != nil {
		return err
	}
	defer up.Close()
	back := sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
		return struct{}{}, p.pass(cx, client.Bind(cx), up.Bind(cx))
	})
	defer back.Abort()
	if err := p.pass(cx, up, client); err != nil {
		return err
	}
	p.await(cx)
	_, err = sched.Await[struct{}](cx, back)
	return err
}

func (p *swept) pass(cx *sched.Context, to, from *server.Stream) error {
	buf := make([]byte, 1000)
	for {
		p.await(cx)
		n, err := from.Read(buf)
		if err == io.EOF {
			return to.CloseWrite()
		}
		if err != nil {
			return err
		}
		p.await(cx)
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// Whenever a proxy's task is aborted, its connections end, and nothing is left of it.
func TestAProxyIsCanceledAtEveryAwait(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend})
		c := newClient(t, backend, workers, false)
		ts := &server.Server{On: c.group}
		for at, over := int32(1), false; !over; at++ {
			for after := range 4 {
				l, err := ts.ListenStream("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				p := &swept{l: l, d: &c.Dialer, to: s.addr.String(), at: at, after: after}
				aborts := make(chan func(), 1)
				p.abort = func() { (<-aborts)() }
				h := sched.Go(c.group.Runtime(), func(cx *sched.Context) (struct{}, error) { return struct{}{}, p.serve(cx) })
				aborts <- h.Abort
				peer, err := net.Dial("tcp", l.Addr().String())
				require.NoError(t, err)
				require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
				_, _ = peer.Write(make([]byte, 2500))
				_ = peer.(*net.TCPConn).CloseWrite()
				ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
				_, err = h.Wait(ctx)
				cancel()
				if err != nil {
					require.ErrorIs(t, err, sched.ErrCanceled)
				}
				require.NoError(t, l.Close())
				_, err = io.Copy(io.Discard, peer)
				if err != nil {
					require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
				}
				_ = peer.Close()
				conntest.Eventually(t, func() bool { return c.group.Len() == 0 })
				over = p.count.Load() < at
			}
		}
		require.NoError(t, ts.Close())
	})
}

// A goroutine dials and accepts for tasks, which bind the streams.
func TestGoroutinesGetStreamsForTasks(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := &server.Server{Backend: backend, Workers: workers}
		l, err := s.ListenStream("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		c := newClient(t, backend, workers, false)
		p := &server.Pool{Dialer: c.Dialer}
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		for name, dial := range map[string]func(ctx context.Context, network, addr string) (*server.Stream, error){
			"dialed": c.DialStream, "pooled": p.GetStream,
		} {
			_, err := l.TryAccept()
			require.ErrorIs(t, err, server.ErrNoneArrived, name)
			a, err := dial(ctx, "tcp", l.Addr().String())
			require.NoError(t, err, name)
			b, err := l.Accept(ctx)
			require.NoError(t, err, name)
			echoed := sched.Go(s.Group().Runtime(), func(cx *sched.Context) (struct{}, error) {
				return struct{}{}, echoStream(cx, b.Bind(cx))
			})
			require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
				a := a.Bind(cx)
				return errors.Join(exchangeStream(a, "hello"), a.Close())
			}), name)
			_, err = echoed.Wait(ctx)
			require.NoError(t, err, name)
			require.NoError(t, b.Close(), name)
		}
		ended, end := context.WithCancel(ctx)
		end()
		_, err = l.Accept(ended)
		require.ErrorIs(t, err, context.Canceled)
		_, err = c.DialStream(ended, "tcp", l.Addr().String())
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, p.Close())
		require.NoError(t, s.Shutdown(ctx))
	})
}
