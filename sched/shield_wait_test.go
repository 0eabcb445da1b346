package sched_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

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
