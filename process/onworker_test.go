package process_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// The system goes on.
func TestAProcessMustNotWaitForTheEndOfItsSystem(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		for range 2 {
			errs := make(chan error, 1)
			spawn(t, s, func(*sched.Context, *process.Inbox[any]) error {
				errs <- s.Shutdown(context.Background())
				return nil
			})
			err := receive(t, "a process calls Shutdown", errs)
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.ErrorContains(t, err, "process.System.Shutdown on worker ")
		}
	})
}

// A Call that would block its worker sends nothing.
func TestACallThatIsRefusedSendsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		received := make(chan any, 10)
		to := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			for {
				m, err := self.Receive(cx)
				if err != nil {
					return err
				}
				received <- m
			}
		})
		errs := make(chan error, 2)
		spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			_, err := process.Call[int, int](context.Background(), s, to, 1)
			errs <- err
			errs <- s.Deliver(cx, to, "the first message")
			return nil
		})
		err := receive(t, "the call ends", errs)
		require.ErrorIs(t, err, sched.ErrBlocksWorker)
		require.ErrorContains(t, err, "process.Call on worker ")
		require.NoError(t, receive(t, "the message is sent", errs))
		require.Equal(t, "the first message", receive(t, "it arrives", received))
	})
}
