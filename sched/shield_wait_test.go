package sched_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A goroutine gives up a shielded wait. Another goroutine must not get its blocker before the
// shield has ended.
func TestAGoroutinesShieldIsItsOwnUntilItIsLowered(t *testing.T) {
	for range rounds(200) {
		canceling, goOn := make(chan struct{}), make(chan struct{})
		first := &probe[int]{onCancel: func() { close(canceling); <-goOn }}
		ended := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := sched.Await(ctx, sched.Shield[int](first))
			ended <- err
		}()
		receive(t, "the first gives up", canceling)

		waits, cancel := context.WithCancel(context.Background())
		second := new(probe[int])
		result := make(chan error, 1)
		go func() {
			_, err := sched.Await(waits, sched.Shield[int](second)) // panics if its shield has ended
			result <- err
		}()
		second.polled(t)
		close(goOn)
		require.ErrorIs(t, receive(t, "the first ends", ended), context.Canceled)
		cancel()
		require.ErrorIs(t, receive(t, "the second ends", result), context.Canceled)
		require.EqualValues(t, 1, first.cancels.Load())
		require.EqualValues(t, 1, second.cancels.Load())
	}
}

// A future that panics when it is abandoned must not affect the next wait.
func TestAWaitWhoseCancelPanicsSpoilsNoOther(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range rounds(200) {
		require.PanicsWithValue(t, "given up", func() {
			_, _ = sched.Await(ctx, sched.Shield[int](&probe[int]{onCancel: func() { panic("given up") }}))
		})
		v, err := sched.Await(context.Background(), sched.Shield(ready(7, nil)))
		require.NoError(t, err)
		require.Equal(t, 7, v)
	}
}
