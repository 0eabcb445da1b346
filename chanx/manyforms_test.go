package chanx_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAFutureReceivesManyUnboundedValues(t *testing.T) {
	tx, rx := chanx.NewUnbounded[int]()
	buf := make([]int, 3)
	f := rx.RecvManyFuture(buf)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sched.Await(canceled, f)
	require.ErrorIs(t, err, context.Canceled)
	got := make(chan int, 1)
	go func() {
		n, err := sched.Await(patient(t), f)
		if err == nil {
			got <- n
		}
		close(got)
	}()
	require.NoError(t, tx.Send(context.Background(), 0))
	require.Equal(t, 1, <-got)
	for i := range 4 {
		require.NoError(t, tx.Send(context.Background(), i))
	}
	tx.Close()
	n, err := sched.Await(patient(t), f)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []int{0, 1, 2}, buf)
	n, err = sched.Await(patient(t), f)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = sched.Await(patient(t), f)
	require.ErrorIs(t, err, chanx.ErrClosed)
	n, err = sched.Await(patient(t), rx.RecvManyFuture(nil))
	require.NoError(t, err)
	require.Zero(t, n)
}
