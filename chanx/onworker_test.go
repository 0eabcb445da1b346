//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// A wait for a goroutine is refused on a worker, in a task and in the Poll of a future.
func TestAGoroutinesWaitIsRefusedOnAWorker(t *testing.T) {
	s, r := chanx.NewBounded[int](1)
	full, fullOut := chanx.NewBounded[int](1)
	us, ur := chanx.NewUnbounded[int]()
	os, or := chanx.NewOneshot[int]()
	bs, br := chanx.NewBroadcast[int](1)
	ws, wr := chanx.NewWatch(0)
	require.NoError(t, full.TrySend(1))
	ctx := context.Background()
	waits := map[string]func() error{
		"Receiver.Recv":          func() error { _, err := r.Recv(ctx); return err },
		"Receiver.RecvMany":      func() error { _, err := r.RecvMany(ctx, make([]int, 2)); return err },
		"Sender.Send":            func() error { return full.Send(ctx, 2) },
		"Sender.Reserve":         func() error { _, err := full.Reserve(ctx); return err },
		"Sender.Closed":          func() error { return s.Closed(ctx) },
		"UnboundedReceiver.Recv": func() error { _, err := ur.Recv(ctx); return err },
		"UnboundedReceiver.RecvMany": func() error {
			_, err := ur.RecvMany(ctx, make([]int, 2))
			return err
		},
		"UnboundedSender.Closed": func() error { return us.Closed(ctx) },
		"OneshotReceiver.Recv":   func() error { _, err := or.Recv(ctx); return err },
		"OneshotSender.Closed":   func() error { return os.Closed(ctx) },
		"BroadcastReceiver.Recv": func() error { _, err := br.Recv(ctx); return err },
		"BroadcastSender.Closed": func() error { return bs.Closed(ctx) },
		"WatchReceiver.Recv":     func() error { _, err := wr.Recv(ctx); return err },
		"WatchReceiver.WaitFor": func() error {
			_, err := wr.WaitFor(ctx, func(v int) bool { return v > 0 })
			return err
		},
		"WatchSender.Closed": func() error { return ws.Closed(ctx) },
	}
	for _, workers := range []int{1, 2} {
		rt := start(t, workers)
		for name, wait := range waits {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				for _, spawn := range []func() *sched.JoinHandle[int]{
					func() *sched.JoinHandle[int] {
						return sched.Go(rt, func(*sched.Context) (int, error) { return 0, wait() })
					},
					func() *sched.JoinHandle[int] {
						return sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, wait() }))
					},
				} {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					_, err := spawn().Wait(ctx)
					require.ErrorIs(t, err, sched.ErrBlocksWorker)
					require.ErrorContains(t, err, "chanx."+name+" on worker ")
				}
			})
		}
		_, err := sched.Go(rt, func(*sched.Context) (int, error) { // no wait is needed
			v, err := fullOut.Recv(ctx)
			if err == nil {
				err = full.Send(ctx, v)
			}
			return v, err
		}).Wait(t.Context())
		require.NoError(t, err, "refused calls left neither a value nor a place in the queue")
	}
	_, err := fullOut.TryRecv()
	require.NoError(t, err)
	_, err = fullOut.TryRecv()
	require.Equal(t, chanx.ErrEmpty, err, "no refused call has sent")
}
