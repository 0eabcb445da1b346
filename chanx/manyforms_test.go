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

func TestAFutureOfAnOwnedPermitWaitsForRoom(t *testing.T) {
	tx, rx := chanx.NewBounded[int](1)
	require.NoError(t, tx.TrySend(1))
	f := tx.ReserveOwnedFuture()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sched.Await(canceled, f)
	require.ErrorIs(t, err, context.Canceled)
	go func() { _, _ = rx.Recv(patient(t)) }()
	p, err := sched.Await(patient(t), f)
	require.NoError(t, err)
	require.ErrorIs(t, tx.TrySend(3), chanx.ErrFull, "the abandoned wait has no permit, this one has")
	back, err := p.Send(context.Background(), 2)
	require.NoError(t, err)
	require.Same(t, tx, back)
	v, err := rx.Recv(patient(t))
	require.NoError(t, err)
	require.Equal(t, 2, v)
	rx.Close()
	_, err = sched.Await(patient(t), tx.ReserveOwnedFuture())
	require.ErrorIs(t, err, chanx.ErrClosed)
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
