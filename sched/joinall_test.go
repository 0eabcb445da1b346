package sched_test

import (
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestJoinGivesTheValuesInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		ps, fs := probes[int](5)
		h := sched.Spawn(rt, sched.Join(fs...))
		for _, i := range []int{3, 0, 4, 1, 2} {
			ps[i].polled(t)
			require.False(t, h.Done())
			ps[i].finish(10*i, nil)
		}
		got, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, []int{0, 10, 20, 30, 40}, got)
	})
}

func TestJoinOfNothingIsDoneAtOnce(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	got, err := do(t, rt, sched.Join[int]())
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestTheFirstErrorEndsAJoinAndTheOthersAreAbandoned(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ps, fs := probes[string](3)
	h := sched.Spawn(rt, sched.Join(fs...))
	ps[2].polled(t)
	ps[0].finish("was done", nil)
	ps[1].finish("", io.EOF)
	got, err := outcome(t, h)
	require.Equal(t, io.EOF, err)
	require.Equal(t, []string{"was done", "", ""}, got)
	require.Zero(t, ps[0].cancels.Load()+ps[1].cancels.Load())
	require.EqualValues(t, 1, ps[2].cancels.Load())
}

func TestAnAbandonedJoinReleasesTheValuesItHas(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var released atomic.Int64
	never := new(probe[lease])
	h := sched.Spawn(rt, sched.Join(ready(lease{&released}, nil), never, ready(lease{&released}, nil)))
	never.polled(t)
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.EqualValues(t, 2, released.Load())
	require.EqualValues(t, 1, never.cancels.Load())
}

func TestJoin2AndJoin3KeepTheTypes(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	pair, err := do(t, rt, sched.Join2(ready(1, nil), ready("b", nil)))
	require.NoError(t, err)
	require.Equal(t, sched.Pair[int, string]{First: 1, Second: "b"}, pair)
	triple, err := do(t, rt, sched.Join3(ready(1, nil), ready("b", nil), ready(2.5, nil)))
	require.NoError(t, err)
	require.Equal(t, sched.Triple[int, string, float64]{First: 1, Second: "b", Third: 2.5}, triple)

	p := new(probe[int])
	pair2, err := do(t, rt, sched.Join2(p, ready("half", io.EOF)))
	require.Equal(t, io.EOF, err)
	require.Equal(t, "half", pair2.Second)
	require.EqualValues(t, 1, p.cancels.Load())
}
