//go:build !explore

package chanx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

func outcome[T any](t testing.TB, h *sched.JoinHandle[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := h.Wait(ctx)
	require.NoError(t, ctx.Err(), "a task does not end")
	return v, err
}

// waiting starts a task with that future, which has to wait.
func waiting[T any](t testing.TB, rt *sched.Runtime, f sched.Future[T]) *sched.JoinHandle[T] {
	t.Helper()
	polled := make(chan struct{}, 1)
	h := sched.Go(rt, func(cx *sched.Context) (T, error) {
		return sched.Await(cx, sched.Future[T](&noted[T]{f, polled}))
	})
	schedtest.Receive(t, "it is polled", polled)
	require.False(t, h.Done())
	return h
}

// noted signals the end of its first poll.
type noted[T any] struct {
	f      sched.Future[T]
	polled chan struct{}
}

func (n *noted[T]) Poll(cx *sched.Context) (T, error) {
	defer func() {
		select {
		case n.polled <- struct{}{}:
		default:
		}
	}()
	return n.f.Poll(cx)
}

func (n *noted[T]) Cancel() {
	if c, ok := n.f.(sched.Canceler); ok {
		c.Cancel()
	}
}

// reserveAll reserves all room of an empty channel, and fails if some was lost.
func reserveAll(t testing.TB, tx *chanx.Sender[int], capacity int) (permits []chanx.Permit[int]) {
	t.Helper()
	for range capacity {
		eventually(t, "there is room", func() bool { // the last values may be being received
			p, err := tx.TryReserve()
			if err == nil {
				permits = append(permits, p)
			}
			return err == nil
		})
	}
	return permits
}
