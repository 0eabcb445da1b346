//go:build !explore

package chanx_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

func TestAOneshotPassesOneValue(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewOneshot[int]()
		_, err := rx.TryRecv()
		require.Equal(t, chanx.ErrEmpty, err)
		waits := c.do(func(ctx context.Context) error {
			v, err := rx.Recv(ctx)
			require.Equal(t, 7, v)
			return err
		})
		eventually(t, "it waits", tx.Waiting)
		c.run(func(ctx context.Context) { require.NoError(t, tx.Send(ctx, 7)) })
		require.NoError(t, waits.wait())
		require.Equal(t, chanx.ErrClosed, tx.Send(context.Background(), 8), "once")
		_, err = receives(c, rx)
		require.Equal(t, chanx.ErrClosed, err, "once")
	})
}

func TestAOneshotWhoseReceiverIsGoneRefusesTheValue(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		tx, rx := chanx.NewOneshot[string]()
		waits := c.do(func(ctx context.Context) error { _, err := rx.Recv(ctx); return err })
		eventually(t, "it waits", tx.Waiting)
		waits.abort()
		require.Error(t, waits.wait())
		require.False(t, tx.IsClosed(), "it may be polled again")
		rx.Close()
		require.True(t, tx.IsClosed())
		require.ErrorIs(t, tx.Send(context.Background(), "mine"), os.ErrClosed)
		_, err := rx.TryRecv()
		require.Equal(t, chanx.ErrClosed, err)
	})
}

func TestAValueThatWasSentOutlivesTheCloseOfTheReceiver(t *testing.T) {
	tx, rx := chanx.NewOneshot[int]()
	require.NoError(t, tx.Send(context.Background(), 1))
	rx.Close()
	tx.Close()
	v, err := rx.TryRecv()
	require.NoError(t, err)
	require.Equal(t, 1, v)
	_, err = rx.TryRecv()
	require.Equal(t, chanx.ErrClosed, err)
}

func TestAOneshotReceiverThatMovesTasksHasOnlyTheNewestWoken(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, workers)
		tx, rx := chanx.NewOneshot[int]()
		// It polls the receiver in each run, as long as it owns the receiver.
		type owner struct {
			sched.Task
			runs, got chan int
			mine      bool
		}
		newOwner := func() *owner {
			o := &owner{runs: make(chan int, 10), got: make(chan int, 10), mine: true}
			o.Init(rt, body(func(cx *sched.Context) bool {
				if o.mine {
					if v, err := rx.RecvFuture().Poll(cx); err == nil {
						o.got <- v
					}
				}
				o.mine = false
				o.runs <- 1
				return false
			}))
			return o
		}
		first, second := newOwner(), newOwner()
		first.Wake()
		<-first.runs
		second.Wake()
		<-second.runs
		second.mine = true
		require.NoError(t, tx.Send(context.Background(), 5))
		require.Equal(t, 5, <-second.got)
		<-second.runs
		first.Wake() // checks that this is its only run
		<-first.runs
		require.Empty(t, first.runs)
		require.Empty(t, first.got)
	}
}

type body func(cx *sched.Context) (done bool)

func (f body) Run(cx *sched.Context) bool { return f(cx) }
