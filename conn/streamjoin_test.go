package conn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A stream whose main function has returned begins no more functions, and Join says so: nil
// would mean that the function has run.
func TestJoinOfABranchThatWasNeverBegunIsAnError(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ran, joined := make(chan bool, 1), make(chan error, 1)
		f := sequential(t, backend, 1, func(cx *sched.Context, s *conn.Stream) error {
			s.Go(func(cx *sched.Context) error {
				_ = sleep(cx, time.Hour) // until the main function has returned
				b := s.Go(func(*sched.Context) error { ran <- true; return nil })
				cx.Shield() // else Join itself is canceled
				joined <- b.Join(cx)
				return nil
			})
			_, err := s.Read(make([]byte, 1)) // the child begins
			return err
		})
		c := f.dial()
		write(t, c, "x")
		require.Equal(t, sched.ErrCanceled, conntest.Receive(t, joined))
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Empty(t, ran)
	})
}
