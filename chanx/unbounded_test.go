//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
)

func TestAnUnboundedChannelKeepsEachSendersOrderAndLosesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		const senders = 4
		each := rounds(40_000)
		tx, rx := chanx.NewUnbounded[[2]int]()
		var jobs []*job
		for i := range senders {
			mine := tx.Clone()
			jobs = append(jobs, c.do(func(ctx context.Context) error {
				defer mine.Close()
				for n := range each {
					if err := mine.Send(ctx, [2]int{i, n}); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		tx.Close()
		jobs = append(jobs, c.do(func(ctx context.Context) error {
			var next [senders]int
			for {
				v, err := rx.Recv(ctx)
				if err == chanx.ErrClosed {
					break
				} else if err != nil {
					return err
				}
				if v[1] != next[v[0]] {
					return fmt.Errorf("%d of sender %d, not %d", v[1], v[0], next[v[0]])
				}
				next[v[0]]++
			}
			for i, n := range next {
				if n != each {
					return fmt.Errorf("%d of sender %d", n, i)
				}
			}
			return nil
		}))
		allDone(t, jobs)
	})
}

func TestAnUnboundedChannelThatIsClosedIsDrained(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewUnbounded[int]()
		_, err := rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err)
		waits := c.do(func(ctx context.Context) error { _, err := rx.Recv(ctx); return err })
		eventually(t, "it waits", func() bool { return tx.Waiting() == 1 })
		c.run(func(ctx context.Context) { require.NoError(t, tx.Send(ctx, 0)) })
		require.NoError(t, waits.wait())
		for i := range 100 {
			require.NoError(t, tx.Send(context.Background(), i))
		}
		require.Equal(t, 100, rx.Len())
		tx.Close()
		require.Equal(t, chanx.ErrClosed, tx.Send(context.Background(), 1))
		require.Equal(t, 100, rx.Len())
		buf := make([]int, 70)
		c.run(func(ctx context.Context) {
			n, err := rx.RecvMany(ctx, buf)
			require.NoError(t, err)
			require.Equal(t, 70, n)
			n, err = rx.RecvMany(ctx, buf)
			require.NoError(t, err)
			require.Equal(t, 30, n)
			require.Equal(t, 99, buf[n-1])
			_, err = rx.RecvMany(ctx, buf)
			require.Equal(t, chanx.ErrClosed, err)
		})
	})
}

func TestTheReceiverOfAnUnboundedChannelIsToldThatTheLastSenderIsGone(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewUnbounded[int]()
		other := tx.Clone()
		tx.Close()
		waits := c.do(func(ctx context.Context) error { _, err := rx.Recv(ctx); return err })
		eventually(t, "it waits", func() bool { return other.Waiting() == 1 })
		other.Close()
		require.Equal(t, chanx.ErrClosed, waits.wait())
	})
}

func TestAnUnboundedChannelWithoutAReceiverRefuses(t *testing.T) {
	tx, rx := chanx.NewUnbounded[int]()
	require.NoError(t, tx.Send(context.Background(), 1))
	rx.Close()
	rx.Close()
	require.True(t, tx.IsClosed())
	require.Equal(t, chanx.ErrClosed, tx.Send(context.Background(), 2))
	_, err := rx.TryRecv()
	require.Equal(t, chanx.ErrClosed, err)
	require.Zero(t, rx.Len())

	tx, rx = chanx.NewUnbounded[int]()
	require.NoError(t, tx.Send(context.Background(), 1))
	rx.Stop()
	require.Equal(t, chanx.ErrClosed, tx.Send(context.Background(), 2))
	v, err := rx.TryRecv()
	require.NoError(t, err)
	require.Equal(t, 1, v)
	_, err = rx.TryRecv()
	require.Equal(t, chanx.ErrClosed, err)
}
