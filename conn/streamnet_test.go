package conn_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A remote is a stream for goroutines: two of its functions read and write for any goroutine that
// asks. So package nettest, which calls a connection from many goroutines, can test streams.
type remote struct {
	*conn.Stream
	reads, writes *chanx.Sender[*request]
}

type request struct {
	p    []byte
	n    int
	err  error
	done chan struct{}
}

func (r *remote) Read(p []byte) (int, error) { return r.ask(r.reads, "read", p) }

func (r *remote) Write(p []byte) (int, error) { return r.ask(r.writes, "write", p) }

func (r *remote) ask(to *chanx.Sender[*request], op string, p []byte) (int, error) {
	q := &request{p: p, done: make(chan struct{})}
	if err := to.Send(context.Background(), q); err != nil {
		return 0, &net.OpError{Op: op, Net: "tcp", Err: net.ErrClosed}
	}
	<-q.done
	return q.n, q.err
}

// serveRemotely is a stream's function that passes a remote on.
func serveRemotely(remotes chan<- *remote) func(*sched.Context, *conn.Stream) error {
	return func(cx *sched.Context, s *conn.Stream) error {
		cx.Shield() // the last requests are answered, with errors
		r, reads, writes := newRemote(s)
		remotes <- r
		w := s.Go(func(cx *sched.Context) error { return answerAll(cx, writes, s.Write) })
		_ = answerAll(cx, reads, s.Read)
		return w.Join(cx)
	}
}

func newRemote(s *conn.Stream) (r *remote, reads, writes *chanx.Receiver[*request]) {
	tx, reads := chanx.NewBounded[*request](100)
	wtx, writes := chanx.NewBounded[*request](100)
	return &remote{s, tx, wtx}, reads, writes
}

// answerAll answers requests until their channel is closed.
func answerAll(cx *sched.Context, requests *chanx.Receiver[*request], call func([]byte) (int, error)) error {
	for q := range requests.All(cx) {
		q.n, q.err = call(q.p)
		close(q.done)
	}
	return nil
}

// The tests that package net's own connections have to pass.
func TestStreamsPassWhatNetsConnsDo(t *testing.T) {
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
				accepted, dialed := make(chan *remote, 1), make(chan *remote, 1)
				l, err := f.Listen(ln, conn.Sequential(serveRemotely(accepted)))
				require.NoError(t, err)
				defer l.Close()
				nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
					if _, err := f.Dial(l.Addr(), conn.Sequential(serveRemotely(dialed))); err != nil {
						return nil, nil, nil, err
					}
					a, b := <-accepted, <-dialed
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
			})
		}
	})
}
