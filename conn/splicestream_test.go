package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A copied is the result of a Stream.Splice.
type copied struct {
	there, back int64
	err         error
}

// A streamProxy splices the Stream of each connection that it accepts with one that it dials, in
// the handler's function.
type streamProxy struct {
	*fixture
	origin  net.Listener
	idle    atomic.Int64 // a time.Duration
	results chan copied
	streams chan [2]*conn.Stream // those that are about to be spliced, if there is room
}

func newStreamProxy(t *testing.T, backend string, workers int, configure ...func(*conn.Config)) *streamProxy {
	t.Helper()
	p := &streamProxy{origin: silentTCP(t), results: make(chan copied, 100), streams: make(chan [2]*conn.Stream, 1)}
	p.fixture = newFixture(t, backend, workers, configure...)
	p.sequential(func(cx *sched.Context, client *conn.Stream) error {
		up := conn.NewStream()
		if _, err := p.Dial(p.origin.Addr(), up.Handler()); err != nil {
			return err
		}
		select {
		case p.streams <- [2]*conn.Stream{client, up}:
		default:
		}
		p.splice(cx, client, up)
		return nil
	})
	return p
}

// sequential listens with a sequential handler, which may use the fixture.
func (f *fixture) sequential(fn func(*sched.Context, *conn.Stream) error) {
	f.t.Helper()
	ln := silentTCP(f.t)
	l, err := f.Listen(ln, conn.Sequential(fn)) // a stream has no OnClose to be audited
	require.NoError(f.t, err)
	f.addr = l.Addr()
	f.t.Cleanup(func() { _ = l.Close() })
}

// splice splices, and keeps the result.
func (p *streamProxy) splice(cx *sched.Context, a, b *conn.Stream) {
	there, back, err := a.Splice(cx, b, time.Duration(p.idle.Load()))
	p.results <- copied{there, back, err}
}

// pair is a client, and the origin's end of its connection.
func (p *streamProxy) pair() (client, origin *net.TCPConn) {
	p.t.Helper()
	c := p.dial()
	return c.(*net.TCPConn), acceptTCP(p.t, p.origin)
}

// result is that of the next splice that ends. No connection may be left.
func (p *streamProxy) result() copied {
	p.t.Helper()
	r := conntest.Receive(p.t, p.results)
	conntest.Eventually(p.t, func() bool { return p.Len() == 0 })
	return r
}

// Bytes go both ways at once, and either side may finish first.
func TestStreamsAreSplicedWithHalfClosesEachWay(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newStreamProxy(t, backend, workers)
		for _, n := range []int{0, 1, 100 << 10, 4 << 20} {
			client, origin := p.pair()
			together(t, func() error { return speak(client, 1, n, false) }, func() error { return hear(origin, 1, n, false) })
			together(t, func() error { return speak(origin, 2, n/2, false) }, func() error { return hear(client, 2, n/2, false) })
			require.Equal(t, copied{int64(n), int64(n / 2), nil}, p.result())

			client, origin = p.pair()
			together(t, func() error { return speak(origin, 3, n, false) }, func() error { return hear(client, 3, n, false) })
			together(t, func() error { return speak(client, 4, n/2, false) }, func() error { return hear(origin, 4, n/2, false) })
			require.Equal(t, copied{int64(n / 2), int64(n), nil}, p.result())
		}
		client, origin := p.pair()
		const much = 16 << 20
		together(t,
			func() error { return speak(client, 5, much, false) }, func() error { return hear(origin, 5, much, false) },
			func() error { return speak(origin, 6, much, false) }, func() error { return hear(client, 6, much, false) })
		require.Equal(t, copied{much, much, nil}, p.result())
	})
}

// A bulk goes through a pipe of the kernel.
func TestABulkBetweenStreamsIsSplicedByTheKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("splice(2) is Linux's")
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newStreamProxy(t, backend, workers)
		client, origin := p.pair()
		conntest.Eventually(t, func() bool {
			sent := make(chan error, 1)
			go func() { sent <- writeAll(client, noise) }()
			require.True(t, bytes.Equal(noise, read(t, origin, len(noise))))
			require.NoError(t, conntest.Receive(t, sent))
			return p.PipesUsed() == 1
		}, "a pipe")
		require.NoError(t, client.Close())
		require.NoError(t, origin.Close())
		require.NoError(t, p.result().err)
		require.Zero(t, p.PipesUsed())
	})
}

// Bytes that either side has sent before are copied first, wherever they are kept: the connection
// has it, the Socket of a Stream that tasks use, or a function that has peeked at it.
func TestBufferedBytesGoFirst(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, kind := range []string{"unshared", "shared", "more than is kept"} {
			t.Run(kind, func(t *testing.T) {
				early := []byte("early bytes, of which six are read")
				if kind == "more than is kept" {
					early = noise[:1<<20]
				}
				results, peeked := make(chan copied, 1), make(chan struct{})
				origin := silentTCP(t)
				f := newFixture(t, backend, workers)
				f.sequential(func(cx *sched.Context, client *conn.Stream) error {
					up := dialTo(f, origin).Bind(cx)
					if kind == "shared" {
						client.Socket()
					}
					for _, s := range []*conn.Stream{client, up} {
						if _, err := s.ReadFull(make([]byte, 6)); err != nil {
							return err
						}
						if _, err := s.Peek(1); err != nil {
							return err
						}
					}
					close(peeked)
					there, back, err := client.Splice(cx, up, 0)
					results <- copied{there, back, err}
					return nil
				})
				client := f.dial()
				up := acceptTCP(t, origin)
				written := make(chan error, 2)
				for _, c := range []net.Conn{client, up} {
					go func() { written <- writeAll(c, early) }()
				}
				conntest.Receive(t, peeked)
				for _, c := range []net.Conn{client, up} {
					require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
					require.True(t, bytes.Equal(early[6:], read(t, c, len(early)-6)))
					write(t, c, "late")
				}
				for _, c := range []net.Conn{client, up} {
					require.NoError(t, conntest.Receive(t, written))
					require.Equal(t, "late", string(read(t, c, 4)))
				}
				for _, c := range []net.Conn{client, up} {
					require.NoError(t, c.(*net.TCPConn).CloseWrite())
				}
				n := int64(len(early) - 6 + 4)
				require.Equal(t, copied{n, n, nil}, conntest.Receive(t, results))
			})
		}
	})
}

// Bytes that the functions have written are sent before those of the other peer.
func TestWrittenBytesGoBeforeSplicedOnes(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		origin := silentTCP(t)
		f := newFixture(t, backend, workers)
		f.sequential(func(cx *sched.Context, client *conn.Stream) error {
			up := dialTo(f, origin).Bind(cx)
			_, _ = client.Write([]byte("greeting "))
			if _, err := up.Write([]byte("header ")); err != nil {
				return err
			}
			_, _, err := up.Splice(cx, client, 0)
			return err
		})
		client := f.dial()
		write(t, client, "body")
		up := acceptTCP(t, origin)
		write(t, up, "answer")
		require.Equal(t, "header body", string(read(t, up, 11)))
		require.Equal(t, "greeting answer", string(read(t, client, 15)))
	})
}

// Streams that tasks have dialed, on workers of one group or of two.
func TestStreamsOfAnyWorkersAndGroupsAreSpliced(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		one := newFixture(t, backend, workers)
		other := newFixture(t, backend, 1)
		for _, groups := range [][2]*fixture{{one, one}, {one, other}} {
			a, b := silentTCP(t), silentTCP(t)
			results := make(chan copied, 1)
			sched.Go(other.Runtime(), func(cx *sched.Context) (struct{}, error) {
				s, u := conn.NewStream(), conn.NewStream()
				_, err := groups[0].Dial(a.Addr(), s.Handler())
				if err == nil {
					_, err = groups[1].Dial(b.Addr(), u.Handler())
				}
				if err != nil {
					return struct{}{}, err
				}
				there, back, err := s.Splice(cx, u, 0) // unbound, and dialed meanwhile
				results <- copied{there, back, err}
				return struct{}{}, nil
			}).Detach()
			client, up := acceptTCP(t, a), acceptTCP(t, b)
			const n = 4 << 20
			together(t,
				func() error { return speak(client, 1, n, false) }, func() error { return hear(up, 1, n, false) },
				func() error { return speak(up, 2, n+1, false) }, func() error { return hear(client, 2, n+1, false) })
			require.Equal(t, copied{n, n + 1, nil}, conntest.Receive(t, results))
			conntest.Eventually(t, func() bool { return one.Len()+other.Len() == 0 })
		}
	})
}

// One side idles, while the other direction carries something: that is no idle splice.
func TestAnIdleSpliceOfStreamsEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 300*time.Millisecond, func(idle time.Duration, alive func()) error {
			p := newStreamProxy(t, backend, 2)
			p.idle.Store(int64(idle))
			client, origin := p.pair()
			begun := time.Now()
			for time.Since(begun) < 2*idle {
				if err := errors.Join(writeAll(client, []byte("x")), take(origin, 1)); err != nil {
					return err
				}
				alive()
				time.Sleep(idle / 20)
			}
			for _, c := range []net.Conn{client, origin} {
				requireResetOnly(t, c)
			}
			r := conntest.Receive(t, p.results)
			require.ErrorIs(t, r.err, os.ErrDeadlineExceeded)
			require.Positive(t, r.there)
			require.Zero(t, r.back)
			_ = client.Close()
			_ = origin.Close()
			conntest.Eventually(t, func() bool { return p.Len() == 0 })
			return nil
		})
	})
}

// Everything that ends one side ends both, and the error says what.
func TestAnEndOfEitherStreamEndsTheSplice(t *testing.T) {
	type ending struct {
		name string
		by   func(client, origin *net.TCPConn, s [2]*conn.Stream)
		want []error
		cut  bool // the peers see a reset
	}
	var endings []ending
	for i, side := range []string{"accepted", "dialed"} {
		endings = append(endings,
			ending{side + ": reset by the peer", func(client, origin *net.TCPConn, _ [2]*conn.Stream) {
				reset([]net.Conn{client, origin}[i])
			}, []error{syscall.ECONNRESET}, true},
			ending{side + ": Close", func(_, _ *net.TCPConn, s [2]*conn.Stream) { _ = s[i].Close() }, []error{net.ErrClosed}, false},
			ending{side + ": Abort", func(_, _ *net.TCPConn, s [2]*conn.Stream) { s[i].Abort() }, []error{net.ErrClosed}, true},
			ending{side + ": Handle.Close", func(_, _ *net.TCPConn, s [2]*conn.Stream) { _ = s[i].Handle().Close() }, []error{net.ErrClosed}, false},
			ending{side + ": Handle.Abort", func(_, _ *net.TCPConn, s [2]*conn.Stream) { _ = s[i].Handle().Abort() }, []error{net.ErrClosed}, true},
			ending{side + ": a deadline", func(_, _ *net.TCPConn, s [2]*conn.Stream) { _ = s[i].SetReadDeadline(time.Now()) },
				[]error{os.ErrDeadlineExceeded}, false},
		)
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		// a peer that takes nothing delays the end
		p := newStreamProxy(t, backend, workers, func(cfg *conn.Config) { cfg.LingerTimeout = 50 * time.Millisecond })
		for _, e := range endings {
			for _, bulk := range []bool{false, true} {
				client, origin := p.pair()
				s := conntest.Receive(t, p.streams)
				wrote := make(chan error, 2)
				if bulk {
					go func() { wrote <- speak(client, 1, 64<<20, false) }()
					go func() { wrote <- speak(origin, 2, 64<<20, false) }()
					read(t, origin, 1<<20)
					read(t, client, 1<<20)
				} else {
					write(t, client, "hello")
					read(t, origin, 5)
					wrote <- nil
					wrote <- nil
				}
				e.by(client, origin, s)
				r := conntest.Receive(t, p.results)
				got := conn.Portable(r.err)
				for _, want := range e.want {
					if bulk && want == syscall.ECONNRESET && errors.Is(got, syscall.EPIPE) {
						continue // the kernel tells one call of a reset; a send behind it hears of a broken pipe
					}
					require.ErrorIs(t, got, want, "%s, bulk %v", e.name, bulk)
				}
				var oe *net.OpError
				require.ErrorAs(t, r.err, &oe, e.name)
				for _, c := range []*net.TCPConn{client, origin} {
					_, err := io.Copy(io.Discard, c)
					if !bulk && e.cut && !errors.Is(err, net.ErrClosed) {
						requireReset(t, err)
					} else if !bulk && !errors.Is(err, net.ErrClosed) {
						require.NoError(t, err, e.name)
					}
					_ = c.Close()
				}
				for range 2 {
					conntest.Receive(t, wrote)
				}
				conntest.Eventually(t, func() bool { return p.Len() == 0 }, e.name)
			}
		}
	})
}

// While a splice has the bytes, others' reads and writes fail, also those that wait.
func TestASplicedStreamIsNobodyElses(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		origin := silentTCP(t)
		s, u, z := dialTo(f, origin), dialTo(f, origin), dialTo(f, origin)
		peers := [3]*net.TCPConn{acceptTCP(t, origin), acceptTCP(t, origin), acceptTCP(t, origin)}
		read := make(chan error, 1)
		reading := sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
			_, err := s.Bind(cx).Read(make([]byte, 1))
			read <- err
			return struct{}{}, nil
		})
		conntest.Eventually(t, func() bool { return conn.Waits(s) })
		results := make(chan copied, 1)
		sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
			there, back, err := s.Splice(cx, u, 0)
			results <- copied{there, back, err}
			return struct{}{}, nil
		}).Detach()
		require.ErrorIs(t, conntest.Receive(t, read), conn.ErrSpliced)
		_, err := reading.Wait(t.Context())
		require.NoError(t, err)
		_, err = s.TryRead(make([]byte, 1))
		require.ErrorIs(t, err, conn.ErrSpliced)
		_, err = s.TryWrite([]byte("x"))
		require.ErrorIs(t, err, conn.ErrSpliced)
		require.ErrorIs(t, s.CloseWrite(), conn.ErrSpliced)
		require.ErrorIs(t, s.CloseRead(), conn.ErrSpliced)
		f.task(func(cx *sched.Context) error {
			_, _, err := z.Splice(cx, s, 0)
			if !errors.Is(err, conn.ErrSpliced) {
				return fmt.Errorf("a second splice: %w", err)
			}
			_, _, err = z.Splice(cx, z, 0)
			if err == nil {
				return errors.New("a stream is spliced with itself")
			}
			_, err = z.Bind(cx).Write([]byte("nothing has changed"))
			return errors.Join(err, z.Close())
		})
		heard := make(chan string, 3) // which peer is whose, nobody knows
		for _, c := range peers {
			go func() {
				_, _ = c.Write([]byte("hello"))
				_ = c.CloseWrite()
				p, _ := io.ReadAll(c)
				heard <- string(p)
			}()
		}
		var all []string
		for range peers {
			all = append(all, conntest.Receive(t, heard))
		}
		require.ElementsMatch(t, []string{"hello", "hello", "nothing has changed"}, all)
		require.Equal(t, copied{5, 5, nil}, conntest.Receive(t, results))
		require.ErrorIs(t, s.Close(), net.ErrClosed, "it was closed")
		require.ErrorIs(t, u.Close(), net.ErrClosed)
	})
}

// dialTo is a Stream of a connection that is being dialed.
func dialTo(f *fixture, to net.Listener) *conn.Stream {
	f.t.Helper()
	s := conn.NewStream()
	_, err := f.Dial(to.Addr(), s.Handler())
	require.NoError(f.t, err)
	return s
}

// silentTCP is a listener for acceptTCP.
func silentTCP(t *testing.T) net.Listener {
	t.Helper()
	ln := conntest.Listen(t)
	return ln
}

// acceptTCP is the next connection.
func acceptTCP(t *testing.T, ln net.Listener) *net.TCPConn {
	t.Helper()
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(conntest.Patience))
	c, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return c.(*net.TCPConn)
}
