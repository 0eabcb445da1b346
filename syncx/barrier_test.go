package syncx_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A visitor comes to a barrier so many times, in one of the forms.
func visitor(b *syncx.Barrier, times int, passed func(generation int, leader bool)) op {
	return op{
		future: func() sched.Future[struct{}] {
			f, g := b.WaitFuture(), 0
			return sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
				for ; g < times; g++ {
					leader, err := f.Poll(cx)
					if err != nil {
						return struct{}{}, err
					}
					passed(g, leader)
				}
				return struct{}{}, nil
			})
		},
		wait: func(ctx context.Context) error {
			for g := range times {
				leader, err := b.Wait(ctx)
				if err != nil {
					return err
				}
				passed(g, leader)
			}
			return nil
		},
	}
}

func TestEachGenerationOfABarrierHasOneLeader(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		const size, generations = 100, 10
		b := syncx.NewBarrier(size)
		var came, led, passed [generations]atomic.Int32
		var early atomic.Int32
		var all []*wait
		for i := range size {
			came[0].Add(1)
			all = append(all, visitor(b, generations, func(g int, leader bool) {
				if leader {
					led[g].Add(1)
				}
				if came[g].Load() != size {
					early.Add(1)
				}
				passed[g].Add(1)
				if g+1 < generations {
					came[g+1].Add(1)
				}
			}).begin(rt, forms[i%len(forms)], nothing))
			if i+1 < size {
				require.Zero(t, passed[0].Load(), "one is missing")
			}
		}
		for _, w := range all {
			require.NoError(t, w.result(t))
		}
		for g := range generations {
			require.EqualValues(t, 1, led[g].Load(), "leaders of generation %d", g)
			require.EqualValues(t, size, passed[g].Load(), "that passed generation %d", g)
		}
		require.Zero(t, early.Load(), "that passed before all had come")
		require.Zero(t, b.Waiters())
	})
}

func TestWhoGivesUpHasNotComeToTheBarrier(t *testing.T) {
	inEachForm(t, func(t *testing.T, rt *sched.Runtime, f form) {
		b := syncx.NewBarrier(2)
		var leaders atomic.Int32
		come := func() *wait { return arriving(b, func() { leaders.Add(1) }).begin(rt, f, nothing) }
		first := come()
		eventually(t, "the first waits", func() bool { return b.Waiters() == 1 })
		first.giveUp()
		require.ErrorIs(t, first.result(t), context.Canceled)
		second := come()
		eventually(t, "the second waits", func() bool { return b.Waiters() == 1 })
		third := come()
		require.NoError(t, second.result(t))
		require.NoError(t, third.result(t))
		require.EqualValues(t, 1, leaders.Load())
	})
}

func TestWhoWasToldAndGivesUpDoesNotCountForTheNextGeneration(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	b := syncx.NewBarrier(2)
	one, other := b.WaitFuture(), b.WaitFuture()
	pollOnce(t, rt, one, sched.ErrPending)
	pollOnce(t, rt, other, nil)
	pollOnce(t, rt, other, sched.ErrPending)
	abandon(one)
	pollOnce(t, rt, one, nil)
	pollOnce(t, rt, other, nil)
	require.Zero(t, b.Waiters())
}

func TestABarrierForNobodyPanics(t *testing.T) {
	require.Contains(t, panicOf(func() { syncx.NewBarrier(0) }), "needs at least 1")
}
