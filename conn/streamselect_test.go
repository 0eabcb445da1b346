package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A Select between two streams and a timer drops two of three futures each time, whichever they
// are, and no byte with them.
func TestSelectsBetweenStreamsAndATimerLoseNoByte(t *testing.T) {
	const selects = 20_000 // of a task, which has a time-out
	tasks := 1
	if conntest.Thorough {
		tasks = 5
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if testing.Short() {
			t.Skip("it takes seconds")
		}
		f := serve(t, backend, workers, funcs{data: echo})
		one := func(cx *sched.Context, seed uint64) error {
			var in, out [2]*conn.Stream
			var sent, got [2]uint64
			sums := [2][2]uint64{}
			for i := range out {
				s := conn.NewStream()
				if _, err := f.Dial(f.addr, s.Handler()); err != nil {
					return err
				}
				out[i], in[i] = s.Bind(cx), s.Bind(cx)
			}
			r := rand.New(rand.NewPCG(1, seed))
			wins := [3]int{}
			p := make([]byte, 64)
			for n := range selects {
				if i := r.IntN(3); i < 2 && sent[i]-got[i] < 4096 {
					b := noise[r.IntN(len(noise)-64):][:1+r.IntN(63)]
					if _, err := out[i].Write(b); err != nil {
						return err
					}
					for _, c := range b {
						sent[i]++
						sums[i][0] = sums[i][0]*31 + uint64(c)
					}
				}
				first, err := sched.Await(cx, sched.Select[struct{}](in[0].Readable(), in[1].Readable(),
					sched.Sleep(time.Duration(r.IntN(2))*time.Millisecond/8)))
				if err != nil {
					return err
				}
				wins[first.Index]++
				if first.Index == 2 {
					continue
				}
				m, err := in[first.Index].TryRead(p[:1+r.IntN(len(p))])
				if err != nil {
					return fmt.Errorf("select %d: stream %d is ready, and: %w", n, first.Index, err)
				}
				got[first.Index] += uint64(m)
				for _, c := range p[:m] {
					sums[first.Index][1] = sums[first.Index][1]*31 + uint64(c)
				}
			}
			for i := range in {
				for got[i] < sent[i] {
					m, err := in[i].Read(p)
					if err != nil {
						return fmt.Errorf("%d of %d bytes of stream %d: %w", got[i], sent[i], i, err)
					}
					got[i] += uint64(m)
					for _, c := range p[:m] {
						sums[i][1] = sums[i][1]*31 + uint64(c)
					}
				}
				if sums[i][0] != sums[i][1] {
					return fmt.Errorf("the bytes of stream %d have changed", i)
				}
				if err := in[i].Close(); err != nil {
					return err
				}
			}
			if wins[0] == 0 || wins[1] == 0 || wins[2] == 0 {
				return fmt.Errorf("not each future has won: %v", wins)
			}
			return nil
		}
		for i := range tasks {
			f.task(func(cx *sched.Context) error { return one(cx, uint64(2+i)) })
		}
	})
}

// A copier is a stackless task that passes bytes on: it polls futures, and never waits in a call.
type copier struct {
	to, from *conn.Stream
	ready    sched.Future[struct{}] // nil: none is polled
	buf      []byte
	left     []byte
}

func (c *copier) Poll(cx *sched.Context) (struct{}, error) {
	for {
		if c.ready != nil {
			if _, err := c.ready.Poll(cx); err != nil {
				return struct{}{}, err
			}
			c.ready = nil
		}
		if len(c.left) > 0 {
			n, err := c.to.TryWrite(c.left)
			c.left = c.left[n:]
			if err == conn.ErrNotReady {
				c.ready = c.to.Writable()
			} else if err != nil {
				return struct{}{}, err
			}
			continue
		}
		n, err := c.from.TryRead(c.buf)
		switch {
		case err == conn.ErrNotReady:
			c.ready = c.from.Readable()
		case err == io.EOF:
			return struct{}{}, c.to.CloseWrite()
		case err != nil:
			return struct{}{}, err
		}
		c.left = c.buf[:n]
	}
}

func TestAStacklessTaskPollsStreams(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{open: func(c *conn.Conn) error {
			_, err := c.Write(noise)
			return errors.Join(err, c.CloseWrite())
		}})
		source := conn.NewStream()
		_, err := f.Dial(f.addr, source.Handler())
		require.NoError(t, err)
		ln := conntest.Listen(t)
		sink := conn.NewStream()
		_, err = f.Dial(ln.Addr(), sink.Handler())
		require.NoError(t, err)
		h := sched.Spawn[struct{}](f.Runtime(), &copier{to: sink, from: source, buf: make([]byte, 50_000)})
		c, err := ln.Accept()
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		require.True(t, bytes.Equal(noise, readEOF(t, c)))
		_, err = h.Wait(t.Context())
		require.NoError(t, err)
		closed := sched.Spawn(f.Runtime(), source.Closed())
		require.NoError(t, source.Close())
		_, err = closed.Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, sink.Close())
	})
}

// The tests that package net's own connections have to pass. Package nettest calls from many
// goroutines: two tasks read and write for them, each with a Stream of its own.
func TestStreamsOfTasksPassWhatNetsConnsDo(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, network := range conntest.Networks(t, "tcp", "unix") {
			t.Run(network, func(t *testing.T) {
				f := newFixture(t, backend, workers)
				addr := "127.0.0.1:0"
				if network == "unix" {
					addr = filepath.Join(t.TempDir(), "s")
				}
				ln, err := net.Listen(network, addr)
				require.NoError(t, err)
				defer ln.Close()
				l, err := f.ListenSocket(conn.SocketListenerConfig{}, ln)
				require.NoError(t, err)
				defer l.Close()
				nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
					accepted, dialed := make(chan *remote, 1), make(chan *remote, 1)
					sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
						s, err := l.AcceptStream(cx)
						if err == nil {
							err = serveAsTasks(cx, s, accepted)
						}
						return struct{}{}, err
					}).Detach()
					sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
						s := conn.NewStream()
						_, err := f.Dial(l.Addr(), s.Handler())
						if err == nil {
							err = serveAsTasks(cx, s.Bind(cx), dialed)
						}
						return struct{}{}, err
					}).Detach()
					a, b := conntest.Receive(t, accepted), conntest.Receive(t, dialed)
					var once sync.Once
					return a, b, func() {
						once.Do(func() {
							for _, r := range []*remote{a, b} {
								_ = r.Close()
								r.reads.Close()
								r.writes.Close()
							}
						})
					}, nil
				})
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

// serveAsTasks reads and writes for a remote. Another task writes.
func serveAsTasks(cx *sched.Context, s *conn.Stream, remotes chan<- *remote) error {
	r, reads, writes := newRemote(s)
	w := sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
		return struct{}{}, answerAll(cx, writes, s.Bind(cx).Write)
	})
	remotes <- r
	return errors.Join(answerAll(cx, reads, s.Read), joined(cx, w))
}

func joined(cx *sched.Context, h *sched.JoinHandle[struct{}]) error {
	_, err := sched.Await[struct{}](cx, h)
	return err
}
