package process_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// ErrPending as a reason or as an answer would make the future of a waiter wait forever.
func TestErrPendingIsNoReasonAndNoAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		for name, m := range map[string]*machine{
			"Init": {init: func(context.Context, string, any) error { return sched.ErrPending }},
			"Step": {step: func([]process.Event, *process.StepOutput) error { return sched.ErrPending }},
		} {
			reason := make(chan error, 1)
			spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				pid, err := process.Start(&self.Self, m, process.Options{})
				if err == nil {
					_, err = sched.Await(cx, s.Done(pid)) // on one worker it has not run yet
				}
				reason <- err
				return nil
			})
			err := receive(t, name, reason)
			require.True(t, errors.Is(err, sched.ErrPendingResult) || errors.Is(err, process.ErrNoProcess), "%s: %v", name, err)
		}
		fails := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			m, err := self.Receive(cx)
			if err == nil {
				m.(*process.Request[int, int]).Fail(sched.ErrPending)
			}
			return err
		})
		answer := make(chan error, 1)
		go func() {
			_, err := process.Call[int, int](t.Context(), s, fails, 1)
			answer <- err
		}()
		require.Equal(t, sched.ErrPendingResult, receive(t, "the answer", answer))
	})
}
