package natscluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// Senders that have given up leave next to nothing at a node without room.
func TestSendersThatGiveUpAreForgotten(t *testing.T) {
	c := alone(t, nil)
	p, to := c.heard(7), pidOf(7)
	p.mu.Lock()
	p.sent = p.c.window
	p.mu.Unlock()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 {
		require.ErrorIs(t, c.sys.Send(ended, to, certain{}), context.Canceled)
	}
	for range 1000 {
		ref, err := process.Go(c.sys, process.Options{}, func(cx *sched.Context, _ *process.Inbox[any]) error {
			_, err := c.sys.SendFuture(to, certain{}).Poll(cx)
			require.Equal(t, sched.ErrPending, err)
			return nil
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return c.sys.Status(ref.PID()) == process.Complete }, patience.Limit, time.Millisecond)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Less(t, p.waiters.Len(), 100)
}
