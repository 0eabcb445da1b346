package sched_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// A runtime that was made outside a bubble of testing/synctest is used inside, and first started
// there: its workers are outside, its time is real, and the bubble's time passes meanwhile.
func TestARuntimeOfOutsideInABubble(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	defer func() { require.NoError(t, rt.Close()) }()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, rt.Start())
		ready := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 1, nil })
		for range 100 {
			v, err := sched.Block(context.Background(), rt, sched.Spawn(rt, ready))
			require.NoError(t, err)
			require.Equal(t, 1, v)
		}
		before := rt.Now()
		_, err := sched.Block(context.Background(), rt, sched.Spawn(rt, sched.Sleep(5*time.Millisecond)))
		require.NoError(t, err)
		require.GreaterOrEqual(t, rt.Now()-before, 5*time.Millisecond)
		require.Less(t, rt.Now(), time.Hour, "no time of the bubble")
		require.Equal(t, 2000, time.Now().Year())
		at := rt.At(time.Now().Add(time.Hour))
		require.InDelta(t, rt.Now()+time.Hour, at, float64(time.Minute))
		time.Sleep(time.Hour)
		synctest.Wait()
	})
	require.GreaterOrEqual(t, time.Since(began), 5*time.Millisecond)
}

func TestCloseOfARuntimeOfOutsideInABubble(t *testing.T) {
	for _, start := range []bool{false, true} {
		rt := sched.New(sched.Config{Workers: 1})
		synctest.Test(t, func(t *testing.T) {
			if start {
				require.NoError(t, rt.Start())
			}
			require.NoError(t, rt.Shutdown(t.Context()))
			<-rt.Done()
		})
	}
}

// A runtime with drivers is made outside, as conn.NewGroup makes it, and started inside: then its
// tasks are the bubble's, as the functions are that they call, and its time is real.
func TestTasksOfDriversAreOfTheBubbleThatStartsThem(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, NewDriver: func(int) (sched.Driver, error) { return newFake(), nil }})
	synctest.Test(t, func(t *testing.T) {
		inside := make(chan bool, 1)
		now, err := sched.Block(context.Background(), rt, sched.Spawn(rt, sched.FutureFunc[time.Duration](func(cx *sched.Context) (time.Duration, error) {
			inside <- bubble.In()
			return cx.Now(), nil
		})))
		require.NoError(t, err)
		require.True(t, <-inside)
		require.Positive(t, now, "no time of the bubble")
		require.Less(t, now, time.Hour)
		require.NoError(t, rt.Close())
	})
}
