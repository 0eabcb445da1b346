//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func TestWhenTheLastSenderIsGoneReceiversDrainThenFindItClosed(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](4)
		other := tx.Clone()
		require.NoError(t, tx.TrySend(1))
		require.NoError(t, other.TrySend(2))
		tx.Close()
		tx.Close()
		require.Equal(t, chanx.ErrClosed, tx.TrySend(3), "the handle")
		require.NoError(t, other.TrySend(3), "the channel is open")
		other.Close()
		for want := 1; want <= 3; want++ {
			v, err := receives(c, rx)
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		_, err := receives(c, rx)
		require.ErrorIs(t, err, os.ErrClosed)
		_, err = rx.TryRecv()
		require.Equal(t, chanx.ErrClosed, err)
	})
}

func TestWhenTheLastReceiverIsGoneASendFailsAndTheValueIsTheSenders(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[string](1)
		other := rx.Clone()
		require.NoError(t, tx.TrySend("dropped"))
		waits := []*job{
			c.do(func(ctx context.Context) error { return tx.Send(ctx, "waits") }),
			c.do(func(ctx context.Context) error {
				_, err := sched.Await(ctx, tx.SendFuture("waits as a future"))
				return err
			}),
			c.do(func(ctx context.Context) error { return tx.Send(ctx, "waits too") }),
		}
		eventually(t, "they wait", func() bool { return tx.Waiting() == 3 })
		rx.Close()
		require.Equal(t, 3, tx.Waiting(), "there is another receiver")
		other.Close()
		for _, w := range waits {
			require.ErrorIs(t, w.wait(), chanx.ErrClosed)
		}
		require.Equal(t, chanx.ErrClosed, tx.TrySend("no"))
		require.True(t, tx.IsClosed())
		require.Zero(t, rx.Len(), "values that nobody will receive are not kept")
		require.Equal(t, chanx.ErrClosed, c.do(func(ctx context.Context) error { return tx.Send(ctx, "no") }).wait())
	})
}

func TestStopRefusesSendsAndWhatWasSentCanBeReceived(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](2)
		permit, err := tx.TryReserve()
		require.NoError(t, err)
		require.NoError(t, tx.TrySend(1))
		refused := c.do(func(ctx context.Context) error { return tx.Send(ctx, 2) })
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		rx.Stop()
		require.Equal(t, chanx.ErrClosed, refused.wait())
		require.Equal(t, chanx.ErrClosed, tx.TrySend(3))
		v, err := rx.TryRecv()
		require.NoError(t, err)
		require.Equal(t, 1, v)
		_, err = rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err, "the permit may still send")
		last := c.do(func(ctx context.Context) error {
			v, err := rx.Recv(ctx)
			if v != 4 {
				return fmt.Errorf("%d, %w", v, err)
			}
			_, err = rx.Recv(ctx)
			return err
		})
		eventually(t, "it waits", func() bool { return rx.Waiting() == 1 })
		require.NoError(t, permit.Send(context.Background(), 4))
		require.Equal(t, chanx.ErrClosed, last.wait())
	})
}

func TestReceiversOfAClosedChannelAreToldWhenTheLastPermitIsGivenBack(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewBounded[int](2)
		permit, err := tx.TryReserve()
		require.NoError(t, err)
		var waits []*job
		for range 3 {
			waits = append(waits, c.do(func(ctx context.Context) error { _, err := rx.Recv(ctx); return err }))
		}
		tx.Close()
		eventually(t, "they wait for the permit", func() bool { return rx.Waiting() == 3 })
		permit.Release()
		for _, w := range waits {
			require.Equal(t, chanx.ErrClosed, w.wait())
		}
	})
}
