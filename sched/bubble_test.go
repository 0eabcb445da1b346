package sched_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

// A runtime that was made outside a bubble of testing/synctest is used inside, and first started
// there. Its workers are outside, its time is real, and the bubble's time passes meanwhile.
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

// While a goroutine of the bubble waits for a runtime that is outside, the bubble's time stands
// still. The deadline of the wait still passes.
func TestAWaitForARuntimeOfOutsideEndsAtItsDeadline(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *sched.Runtime) error{
		"Block": func(ctx context.Context, rt *sched.Runtime) error {
			_, err := sched.Block(ctx, rt, sched.Sleep(patience.Limit))
			return err
		},
		"Wait of a task": func(ctx context.Context, rt *sched.Runtime) error {
			_, err := sched.Spawn(rt, sched.Sleep(patience.Limit)).Wait(ctx)
			return err
		},
		"Shutdown": func(ctx context.Context, rt *sched.Runtime) error {
			sched.Spawn(rt, sched.Sleep(patience.Limit))
			return rt.Shutdown(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt := sched.New(sched.Config{Workers: 2})
			defer func() { require.NoError(t, rt.Close()) }()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				require.ErrorIs(t, wait(ctx, rt), context.DeadlineExceeded)
			})
		})
	}
}

// A task outside wakes a goroutine that waits for it in a bubble.
func TestATaskOfOutsideIsWaitedForInABubble(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	defer func() { require.NoError(t, rt.Close()) }()
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			_, err := sched.Spawn(rt, sched.Sleep(time.Millisecond)).Wait(t.Context())
			require.NoError(t, err)
		}
	})
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

// A runtime with drivers is made outside, as conn.NewGroup makes it, and started inside. Then its
// tasks belong to the bubble, as the functions that they call do, and its time is real.
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

// Such a runtime asks for real time at each tick. It keeps the goroutine that answers, since to
// start another one costs a garbage collection.
func TestATaskOfABubbleHasRealTimeAtHand(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, NewDriver: func(int) (sched.Driver, error) { return newFake(), nil }})
	attended := func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "bubble.(*attending).attend(")
	}
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, rt.Start())
		_ = rt.Now()
		<-bubble.After(200 * time.Millisecond) // longer than that goroutine stays without a user
		require.True(t, attended())
		require.NoError(t, rt.Close())
	})
	eventually(t, "it ends with the runtime", func() bool { return !attended() })
}

// A goroutine in a bubble is the first that asks for the Done of a task outside, which then ends
// outside.
func TestABubbleAsksForTheContextOfATaskOutside(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	lent, goOn := make(chan context.Context, 1), sched.NewCancellationToken()
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		lent <- cx
		_, err := sched.Await(cx, goOn.Canceled())
		return 1, err
	})
	ctx := receive(t, "the task lends its context", lent)
	synctest.Test(t, func(t *testing.T) { require.NotNil(t, ctx.Done()) })
	goOn.Cancel()
	_, err := outcome(t, h)
	require.NoError(t, err)
	ended(t, ctx)
}
