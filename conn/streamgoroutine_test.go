package conn_test

import (
	"io"
	"net/rpc"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A goroutine uses the Stream of a function that waits for it: of the handler or of a branch. That
// is an error that says what to use.
func TestAGoroutineInAStreamIsRefused(t *testing.T) {
	calls := map[string]func(s *conn.Stream) error{
		"Read":          func(s *conn.Stream) error { _, err := s.Read(make([]byte, 1)); return err },
		"ReadFull":      func(s *conn.Stream) error { _, err := s.ReadFull(make([]byte, 1)); return err },
		"TryRead":       func(s *conn.Stream) error { _, err := s.TryRead(make([]byte, 1)); return err },
		"a small Write": func(s *conn.Stream) error { _, err := s.Write([]byte("half way")); return err },
		"Flush":         func(s *conn.Stream) error { return s.Flush() },
		"CloseWrite":    func(s *conn.Stream) error { return s.CloseWrite() },
		"Peek":          func(s *conn.Stream) error { _, err := s.Peek(1); return err },
		"Write": func(s *conn.Stream) error {
			_, err := s.Write(make([]byte, 64<<20)) // more than all buffers hold
			return err
		},
		"ReadFrom a file": func(s *conn.Stream) error {
			f, err := os.Open("/dev/zero")
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = s.ReadFrom(io.LimitReader(f, 64<<20))
			return err
		},
	}
	wait := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done // the function runs: it does not await
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				refusals := make(chan error, 3)
				refuse := func(s *conn.Stream) { wait(func() { refusals <- call(s) }) }
				f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
					refuse(s)
					return s.Go(func(*sched.Context) error { refuse(s); return nil }).Join(cx)
				})
				c := f.dial()
				defer c.Close()
				for range 2 {
					require.ErrorContains(t, conntest.Receive(t, refusals), "a goroutine uses Socket()")
				}
				require.NotZero(t, f.log.Count("a goroutine uses Socket()"))
			})
		})
	}
}

// Doubling is a service of net/rpc.
type Doubling struct{}

// Double is its method.
func (Doubling) Double(n int, twice *int) error {
	*twice = 2 * n
	return nil
}

// net/rpc answers in a goroutine of its own, and drops the error of its write. So the log has the
// error, and with the remedy that it names the answer arrives.
func TestNetRPCOnAStreamIsLogged(t *testing.T) {
	if raceEnabled {
		t.Skip("a call beside the function that the Stream is bound to is a race")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		services := rpc.NewServer()
		require.NoError(t, services.Register(Doubling{}))
		serves := func(of func(s *conn.Stream) io.ReadWriteCloser) (*fixture, *rpc.Call) {
			f := sequential(t, backend, 1, func(_ *sched.Context, s *conn.Stream) error {
				services.ServeConn(of(s))
				return nil
			})
			client := rpc.NewClient(f.dial())
			t.Cleanup(func() { _ = client.Close() })
			return f, client.Go("Doubling.Double", 21, new(int), make(chan *rpc.Call, 1))
		}
		f, call := serves(func(s *conn.Stream) io.ReadWriteCloser { return s })
		conntest.Eventually(t, func() bool { return f.log.Count("a goroutine uses Socket()") == 1 }, "the refusal is logged")
		require.Empty(t, call.Done)

		f, call = serves(func(s *conn.Stream) io.ReadWriteCloser {
			return struct {
				io.Reader
				io.WriteCloser
			}{s, s.Socket()}
		})
		require.NoError(t, conntest.Receive(t, call.Done).Error)
		require.Equal(t, 42, *call.Reply.(*int))
		require.Zero(t, f.log.Count("a goroutine uses Socket()"))
	})
}
