//go:build !explore

package chanx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// A call that could wait refuses a nil context also if it need not wait. Nothing is sent or
// received.
func TestANilContextIsRefusedAlsoWhereNothingWaits(t *testing.T) {
	ctx := context.Background()
	send, recv := chanx.NewBounded[int](2)
	require.NoError(t, send.Send(ctx, 1))
	unboundedSend, unbounded := chanx.NewUnbounded[int]()
	require.NoError(t, unboundedSend.Send(ctx, 1))
	broadcastSend, broadcast := chanx.NewBroadcast[int](2)
	_, err := broadcastSend.Send(ctx, 1)
	require.NoError(t, err)
	oneshotSend, oneshot := chanx.NewOneshot[int]()
	require.NoError(t, oneshotSend.Send(ctx, 1))
	watchSend, watch := chanx.NewWatch(0)
	require.NoError(t, watchSend.Send(ctx, 1))

	var none context.Context
	buf := make([]int, 1)
	receives := map[string]func(ctx context.Context) (int, error){
		"Receiver":          recv.Recv,
		"UnboundedReceiver": unbounded.Recv,
		"BroadcastReceiver": broadcast.Recv,
		"OneshotReceiver":   oneshot.Recv,
		"WatchReceiver":     watch.Recv,
	}
	for name, call := range receives {
		_, err := call(none)
		require.ErrorIs(t, err, sched.ErrMisuse, name)
	}
	for name, call := range map[string]func() error{
		"Send":                       func() error { return send.Send(none, 2) },
		"Reserve":                    func() error { _, err := send.Reserve(none); return err },
		"RecvMany":                   func() error { _, err := recv.RecvMany(none, buf); return err },
		"UnboundedReceiver.RecvMany": func() error { _, err := unbounded.RecvMany(none, buf); return err },
		"WaitFor":                    func() error { _, err := watch.WaitFor(none, func(int) bool { return true }); return err },
	} {
		require.ErrorIs(t, call(), sched.ErrMisuse, name)
	}
	for name, call := range receives {
		v, err := call(ctx)
		require.NoError(t, err, name)
		require.Equal(t, 1, v, name)
	}
	_, err = recv.TryRecv()
	require.Equal(t, chanx.ErrEmpty, err)
}
