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
