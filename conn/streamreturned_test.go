package conn_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A task may go on with a handler's Stream after the handler's function has returned. Its errors
// say that, and they name the connection.
func TestCallsAfterTheHandlersFunctionHasReturned(t *testing.T) {
	for name, early := range map[string]bool{"bound before": true, "bound after": false} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := newFixture(t, backend, workers)
				leaked, leave := make(chan *conn.Stream, 1), new(sched.CancellationToken)
				f.listenStreams(func(cx *sched.Context, s *conn.Stream) error {
					leaked <- s
					_, err := sched.Await(cx, leave.Canceled())
					return err
				})
				c := f.dial()
				s := conntest.Receive(t, leaked)
				bound, go1 := make(chan struct{}), new(sched.CancellationToken)
				h := sched.Go(f.Runtime(), func(cx *sched.Context) ([]error, error) {
					var errs []error
					if early {
						s = s.Bind(cx)
						if _, err := s.Write([]byte("x")); err != nil {
							return nil, err
						}
					}
					close(bound)
					if _, err := sched.Await(cx, go1.Canceled()); err != nil {
						return nil, err
					}
					s = s.Bind(cx)
					p := make([]byte, 1)
					_, err := s.Read(p)
					errs = append(errs, err)
					_, err = s.Write(p)
					errs = append(errs, err)
					_, err = s.Peek(1)
					errs = append(errs, err)
					_, err = s.TryRead(p)
					errs = append(errs, err, s.SetDeadline(time.Now()))
					return errs, nil
				})
				conntest.Receive(t, bound)
				leave.Cancel()
				rest, err := io.ReadAll(c) // the end of the connection is on its way
				require.NoError(t, err)
				require.Equal(t, early, string(rest) == "x")
				go1.Cancel()
				errs, err := h.Wait(t.Context())
				require.NoError(t, err)
				for i, err := range errs {
					require.ErrorIs(t, err, net.ErrClosed, i)
					require.ErrorContains(t, err, "the handler's function has returned", i)
					require.ErrorContains(t, err, c.LocalAddr().String(), i) // the peer's
				}
			})
		})
	}
}

// The token of a function ends with its connection.
func TestTheTokenOfAConnectionThatEnds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		tokens := make(chan *sched.CancellationToken, 3)
		f.listenStreams(func(cx *sched.Context, s *conn.Stream) error {
			tokens <- cx.Draining()
			_, err := io.Copy(io.Discard, s)
			return err
		})
		for range 3 {
			c := f.dial()
			token := conntest.Receive(t, tokens)
			require.False(t, token.IsCanceled())
			require.Equal(t, 1, f.Tokens())
			require.NoError(t, c.Close())
			conntest.Receive(t, token.Done())
			conntest.Eventually(t, func() bool { return f.Tokens() == 0 })
		}
		require.False(t, f.Runtime().Draining().IsCanceled())
	})
}
