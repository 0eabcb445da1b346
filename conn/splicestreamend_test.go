package conn_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// Plaintext goes from one Stream to the other, and the end of one is the close-notify of the other.
func TestStreamsThatSpeakTLSAreSpliced(t *testing.T) {
	s := newSecret(t)
	for _, way := range []struct{ front, back bool }{{true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("accepted %v, dialed %v", way.front, way.back), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := newFixture(t, backend, workers)
				var origin net.Listener = silentTCP(t)
				if way.back {
					origin = tls.NewListener(origin, s.server.Config)
				}
				conntest.ServeEach(origin, func(_ int, c net.Conn) {
					defer c.Close()
					_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
					_ = c.(interface{ CloseWrite() error }).CloseWrite()
				})
				results := make(chan copied, 8)
				h := conn.Sequential(func(cx *sched.Context, client *conn.Stream) error {
					up := conn.NewStream()
					out := up.Handler()
					if way.back {
						out = conn.ConnectTLS(conn.TLSConfig{Config: s.client}, out)
					}
					if _, err := f.Dial(origin.Addr(), out); err != nil {
						return err
					}
					there, back, err := client.Splice(cx, up, 0)
					results <- copied{there, back, err}
					return err
				})
				if way.front {
					f.listenTLS(s.server, h)
				} else {
					f.listenOn(silentTCP(t), h)
				}
				sizes := []int{0, 1, 100, 1 << 20}
				conntest.Each(t, 2*len(sizes), func(i int) error {
					raw, err := dial(f.addr)
					if err != nil {
						return err
					}
					defer raw.Close()
					n := sizes[i%len(sizes)]
					if !way.front {
						return exchangePlain(raw, n)
					}
					c := tls.Client(raw, s.client)
					if err := c.Handshake(); err != nil {
						return err
					}
					return exchangeTLS(c, n, uint64(i))
				})
				want, got := int64(0), int64(0)
				for i := range 2 * len(sizes) {
					r := conntest.Receive(t, results)
					require.NoError(t, r.err)
					require.Equal(t, r.there, r.back)
					want, got = want+int64(sizes[i%len(sizes)]), got+r.there
				}
				require.Equal(t, want, got)
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		})
	}
}

// A sweep is a proxy of one task, which accepts, dials and splices, and is aborted at its await at.
type sweep struct {
	g       *conn.Group
	l       *conn.SocketListener
	origin  net.Addr
	at      atomic.Int32 // 0: it is not aborted by its awaits
	awaits  atomic.Int32
	reached chan struct{} // the await at has begun
	aborted chan struct{}
}

// polled is a hook: a task is about to wait, or has ended. It does neither before it was aborted.
func (w *sweep) polled(_ int, id sched.TaskID) {
	if id != 0 && w.awaits.Add(1) == w.at.Load() {
		w.reached <- struct{}{}
		<-w.aborted
	}
}

func (w *sweep) proxy(cx *sched.Context) (copied, error) {
	client, err := w.l.AcceptStream(cx)
	if err != nil {
		return copied{}, err
	}
	up := conn.NewStream()
	if _, err := w.g.Dial(w.origin, up.Handler()); err != nil {
		return copied{}, err
	}
	there, back, err := client.Splice(cx, up, 0)
	return copied{there, back, err}, err
}

// run runs the proxy once for a client that sends size bytes, and gets back until bytes before an
// abort; a negative until is for one at an await. It reports whether the proxy was not aborted.
func (w *sweep) run(t *testing.T, size, until int) (complete bool) {
	t.Helper()
	descriptors := socketsAndPipes()
	w.awaits.Store(0)
	h := sched.Go(w.g.Runtime(), w.proxy)
	client, err := dial(w.l.Addr())
	require.NoError(t, err)
	talked := make(chan error, 1)
	go func() {
		go func() {
			_, _ = client.Write(noise[:size])
			_ = client.(*net.TCPConn).CloseWrite()
		}()
		var err error
		if until >= 0 {
			_, err = io.CopyN(io.Discard, client, int64(until))
			h.Abort()
		}
		if err == nil {
			_, err = io.Copy(io.Discard, client)
		}
		talked <- err
	}()
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		_, err := h.Wait(ctx)
		ended <- err
	}()
	select {
	case <-w.reached:
		h.Abort()
		w.aborted <- struct{}{}
		err = conntest.Receive(t, ended)
	case err = <-ended:
	}
	if err != nil {
		require.ErrorIs(t, err, sched.ErrCanceled)
		conntest.Eventually(t, func() bool { // a connection that the task has not accepted
			if s, err := w.l.TryAccept(); err == nil {
				_ = s.Close()
			}
			return len(talked) > 0
		})
	}
	if err := conntest.Receive(t, talked); err != nil {
		require.True(t, isReset(err) || errors.Is(err, io.EOF), "%v", err)
	}
	_ = client.Close()
	left := func() string {
		rt := w.g.Runtime()
		return fmt.Sprintf("%d connections, %d tasks, %d coroutines, %d descriptors",
			w.g.Len(), rt.Tasks(), rt.Stats().Total.Coroutines, max(0, socketsAndPipes()-descriptors)) // fewer: the last run's origin
	}
	const nothing = "0 connections, 0 tasks, 0 coroutines, 0 descriptors"
	conntest.Eventually(t, func() bool { return left() == nothing }, left)
	return err == nil
}

// socketsAndPipes counts descriptors. A reactor makes others when they are first needed.
func socketsAndPipes() (n int) {
	for _, d := range conntest.Descriptors() {
		if strings.Contains(d, ":socket:") || strings.Contains(d, ":pipe:") {
			n++
		}
	}
	return n
}

// Whenever the task of a proxy is aborted, its connections end, and nothing is left of it.
func TestASpliceIsCanceledAtEveryAwait(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		origin := silentTCP(t)
		conntest.ServeEach(origin, func(_ int, c net.Conn) {
			defer c.Close()
			_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
		})
		w := &sweep{origin: origin.Addr(), reached: make(chan struct{}), aborted: make(chan struct{})}
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: workers, Hooks: sched.Hooks{TaskPollEnd: w.polled}})
		require.NoError(t, err)
		conntest.Report(t, func() string { return reportOf(g) })
		ln := silentTCP(t)
		w.g = g
		w.l, err = g.ListenSocket(conn.SocketListenerConfig{}, ln)
		require.NoError(t, err)
		const size = 100_000
		w.run(t, size, -1) // allocations made once, and kept
		at := int32(1)
		for ; ; at++ {
			w.at.Store(at)
			if complete := w.run(t, size, -1); complete {
				break
			}
		}
		require.Greater(t, at, int32(1), "it waits for the splice, if not to accept")
		w.at.Store(0)
		for _, until := range []int{0, 1, 1000, size / 2, size - 1, size} {
			w.run(t, size, until)
		}
		require.NoError(t, w.l.Close())
		require.NoError(t, g.Close())
	})
}

// A close from anywhere, at any moment, ends a splice, and the dials before it.
func TestClosesRaceWithASplice(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		ended := func(err error) error {
			if err == io.EOF || errors.Is(err, net.ErrClosed) || errors.Is(err, conn.ErrSpliced) {
				return nil
			}
			return err
		}
		for i := range 50 {
			var s [2]*conn.Stream
			for j := range s {
				s[j] = conn.NewStream()
				_, err := f.Dial(f.addr, s[j].Handler())
				require.NoError(t, err)
			}
			pause := func(cx *sched.Context) error {
				for range rand.IntN(i + 1) { // the first ones close during the dial
					if _, err := sched.Await(cx, sched.Yield()); err != nil {
						return err
					}
				}
				return nil
			}
			require.NoError(t, f.tasks(
				func(cx *sched.Context) error { // the sent bytes go to and fro for ever
					_, _, err := s[0].Splice(cx, s[1], 0)
					if err == nil {
						return errors.New("the splice ended in order")
					}
					for _, s := range s { // if it could not begin, it has closed neither
						s.Abort()
					}
					return ended(err)
				},
				func(cx *sched.Context) error {
					for s := s[i%2].Bind(cx); ; {
						if _, err := s.Write(noise[:rand.IntN(3000)]); err != nil {
							return ended(err)
						}
						if err := pause(cx); err != nil {
							return err
						}
					}
				},
				func(cx *sched.Context) error {
					_, err := s[1-i%2].Bind(cx).Read(make([]byte, 1))
					return ended(err)
				},
				func(cx *sched.Context) error {
					if err := pause(cx); err != nil {
						return err
					}
					switch s := s[rand.IntN(2)]; i % 4 {
					case 0, 1:
						return s.Close()
					case 2:
						s.Abort()
					default:
						_ = s.Handle().Abort() // it may not be open yet
						s.Abort()
					}
					return nil
				}))
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// The handler's function returns while another task has spliced its Stream.
func TestAHandlersStreamIsSplicedByAnotherTask(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		origin := silentTCP(t)
		streams, goOn := make(chan *conn.Stream, 1), make(chan struct{})
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := sched.Await(cx, sched.Recv(goOn))
			return err
		})
		client := f.dial()
		s := conntest.Receive(t, streams)
		results := make(chan copied, 1)
		u := dialTo(f, origin)
		sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
			there, back, err := u.Splice(cx, s, 0)
			results <- copied{there, back, err}
			return struct{}{}, nil
		}).Detach()
		up := acceptTCP(t, origin)
		write(t, client, "question")
		require.Equal(t, "question", string(read(t, up, 8)))
		write(t, up, "answer")
		require.Equal(t, "answer", string(read(t, client, 6)))
		close(goOn) // the connection ends with the function
		r := conntest.Receive(t, results)
		require.ErrorIs(t, r.err, net.ErrClosed)
		require.Equal(t, []int64{6, 8}, []int64{r.there, r.back})
		require.Empty(t, readEOF(t, up))
		require.Empty(t, readEOF(t, client))
		require.NoError(t, client.Close())
		require.NoError(t, up.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// exchangePlain sends n bytes and its end, and receives as many.
func exchangePlain(c net.Conn, n int) error {
	go func() {
		_, _ = c.Write(make([]byte, n))
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	m, err := io.Copy(io.Discard, c)
	if err == nil && int(m) != n {
		err = fmt.Errorf("%d of %d bytes came back", m, n)
	}
	return err
}
