package conn_test

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Calls that a task makes before the connection's task has made the connection shared take effect
// after that.
func TestCallsOnAHandlersStreamBeforeItIsShared(t *testing.T) {
	for name, test := range map[string]struct {
		ask  func(s *conn.Stream) error
		want error // of the peer's read
	}{
		"close":       {(*conn.Stream).Close, io.EOF},
		"close write": {(*conn.Stream).CloseWrite, io.EOF},
		"abort":       {func(s *conn.Stream) error { s.Abort(); return nil }, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				streams, asked := make(chan *conn.Stream, 1), make(chan struct{})
				f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
					streams <- s
					<-asked // its worker does nothing else meanwhile
					_, _ = s.Read(make([]byte, 1))
					return nil
				})
				c := f.dial()
				require.NoError(t, test.ask(conntest.Receive(t, streams).Bind(nil)))
				close(asked)
				require.NoError(t, c.SetReadDeadline(time.Now().Add(conntest.Patience)))
				_, err := c.Read(make([]byte, 1))
				if test.want == syscall.ECONNRESET {
					requireReset(t, err)
				} else {
					require.ErrorIs(t, err, test.want)
				}
			})
		})
	}
}

// A deadline that is set while another task makes the connection shared is the one that counts.
func TestDeadlinesSetWhileAStreamBecomesShared(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		streams := make(chan *conn.Stream, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := sched.Await(cx, s.Closed())
			return err
		})
		for range 20 {
			f.dial()
			s := conntest.Receive(t, streams)
			far := time.Now().Add(time.Hour)
			require.NoError(t, s.SetReadDeadline(far))
			bound := make(chan struct{})
			go func() { s.Bind(nil); close(bound) }()
			require.NoError(t, s.SetReadDeadline(time.Now()))
			<-bound
			f.task(func(cx *sched.Context) error {
				s := s.Bind(cx)
				_, err := s.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				return s.Close()
			})
		}
	})
}

// Any task may make futures of a stream, also while the handler's function reads.
func TestFuturesAreMadeWhileTheHandlerReads(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const count = 100
		streams := make(chan *conn.Stream, 1)
		f := sequential(t, backend, workers, func(cx *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := s.ReadFull(make([]byte, count))
			return err
		})
		c := f.dial()
		s := conntest.Receive(t, streams)
		for range count {
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			_ = []sched.Future[struct{}]{s.Draining(), s.Readable(), s.Writable(), s.Closed()}
		}
		require.Empty(t, readEOF(t, c))
	})
}

// A stream that is shared only when its group has closed has ended, for goroutines too.
func TestAStreamIsSharedAfterItsGroupHasClosed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		cfg := conn.Config{Reactor: reactor.Config{Backend: backend}}
		g, err := conn.NewGroup(cfg, sched.Config{Workers: workers})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		streams := make(chan *conn.Stream, 2)
		l, err := g.Listen(ln, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
			streams <- s
			_, err := s.Read(make([]byte, 1))
			return err
		}))
		require.NoError(t, err)
		for range 2 {
			c, err := dial(ln.Addr())
			require.NoError(t, err)
			defer c.Close()
		}
		first, second := conntest.Receive(t, streams), conntest.Receive(t, streams)
		require.NoError(t, l.Close())
		first.Bind(nil) // so that the group watches its sockets
		require.NoError(t, g.Close())
		ended := make(chan error, 1)
		for _, s := range []*conn.Stream{first, second} {
			go func() {
				_, err := s.Socket().Read(make([]byte, 1))
				ended <- err
			}()
			require.ErrorIs(t, conntest.Receive(t, ended), net.ErrClosed)
		}
	})
}
