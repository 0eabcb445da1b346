package packet_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// unspent is the budget that is left to a task after a poll that is pending.
func unspent[T any](t *testing.T, f *fixture, future sched.Future[T]) int {
	t.Helper()
	left, err := joined(t, sched.Spawn(f.Runtime(), sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		_, err := future.Poll(cx)
		require.Equal(t, sched.ErrPending, err)
		left := 0
		for cx.Proceed() {
			left++
		}
		future.(sched.Canceler).Cancel()
		return left, nil
	})))
	require.NoError(t, err)
	return left
}

func TestAPendingReceiveTakesNothingFromTheBudget(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s := listenTaskUDP(t, f)
		p := make([]byte, 10)
		require.Equal(t, 128, unspent(t, f, s.RecvFuture(p)), "RecvFuture")
		require.Equal(t, 128, unspent(t, f, s.RecvFromFuture(p)), "RecvFromFuture")
		require.Equal(t, 128, unspent(t, f, s.RecvBatchFuture(make([]packet.Message[netip.AddrPort], 2))), "RecvBatchFuture")
		require.Equal(t, 128, unspent(t, f, s.ClosedFuture()), "ClosedFuture")
	})
}
