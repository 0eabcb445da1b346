package sched_test

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestJoinAllWaitsForAllDespiteErrors(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		ps, fs := probes[int](3)
		h := sched.Spawn(rt, sched.JoinAll(fs...))
		for i, end := range []struct {
			n   int
			err error
		}{{1, io.EOF}, {0, nil}, {2, nil}} {
			ps[end.n].polled(t)
			require.False(t, h.Done(), "after %d", i)
			ps[end.n].finish(10*end.n, end.err)
		}
		got, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, []sched.Result[int]{{Value: 0}, {Value: 10, Err: io.EOF}, {Value: 20}}, got)
		for _, p := range ps {
			require.Zero(t, p.cancels.Load())
		}
	})
}

func TestJoinAllOfNothingIsDoneAtOnce(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	got, err := do(t, rt, sched.JoinAll[int]())
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestAnAbandonedJoinAllReleasesItsValuesAndAbandonsTheRest(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var released atomic.Int64
	never := new(probe[lease])
	h := sched.Spawn(rt, sched.JoinAll(ready(lease{&released}, nil), ready(lease{&released}, io.EOF), never))
	never.polled(t)
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.EqualValues(t, 1, released.Load(), "the value without an error")
	require.EqualValues(t, 1, never.cancels.Load())
}

func TestASetJoinsAllInTheOrderInWhichTheyEnd(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		ps, fs := probes[int](3)
		for _, f := range fs {
			set.Spawn(rt, f)
		}
		h := sched.Spawn(rt, set.JoinAll())
		for i, n := range []int{2, 0, 1} {
			ps[n].polled(t)
			ps[n].finish(n, map[int]error{0: io.EOF}[n])
			eventually(t, "the result is taken", func() bool { return set.Len() == 2-i })
		}
		got, err := outcome(t, h)
		require.NoError(t, err)
		require.Equal(t, []sched.Result[int]{{Value: 2}, {Value: 0, Err: io.EOF}, {Value: 1}}, got)

		got, err = do(t, rt, set.JoinAll())
		require.NoError(t, err)
		require.Empty(t, got, "an empty set")
	})
}

func TestAnAbandonedJoinAllOfASetLeavesTheRestInTheSet(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	var released atomic.Int64
	var set sched.JoinSet[lease]
	p := new(probe[lease])
	set.Spawn(rt, ready(lease{&released}, nil))
	set.Spawn(rt, p)
	h := sched.Spawn(rt, set.JoinAll())
	eventually(t, "it waits for the second", func() bool { return set.Len() == 1 && set.Waiters() == 1 })
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.EqualValues(t, 1, released.Load())
	require.Equal(t, 1, set.Len())
	require.Zero(t, set.Waiters())
	p.finish(lease{&released}, nil)
	_, err = do(t, rt, set.JoinNext())
	require.NoError(t, err)
}

func TestTryJoinNextTakesWhatHasEndedAndNothingElse(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		_, ok := set.TryJoinNext()
		require.False(t, ok, "an empty set")
		ps, fs := probes[int](2)
		for _, f := range fs {
			set.Spawn(rt, f)
		}
		ps[1].polled(t)
		_, ok = set.TryJoinNext()
		require.False(t, ok, "none has ended")
		ps[1].finish(1, io.EOF)
		var got sched.Result[int]
		eventually(t, "a result is there", func() bool { got, ok = set.TryJoinNext(); return ok })
		require.Equal(t, sched.Result[int]{Value: 1, Err: io.EOF}, got)
		require.Equal(t, 1, set.Len())

		waits := sched.Spawn(rt, set.JoinNext())
		eventually(t, "another one waits", func() bool { return set.Waiters() == 1 })
		ps[0].finish(5, nil)
		_, taken := set.TryJoinNext()
		_, err := outcome(t, waits)
		require.Equal(t, taken, err == sched.ErrEmpty, "one of the two has it: %v", err)
	})
}

func TestABiasedSelectTakesTheFirstOfThoseThatAreReady(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	for range 100 {
		last := new(probe[int])
		first, err := do(t, rt, sched.SelectBiased(nil, ready(1, nil), ready(2, nil), last))
		require.NoError(t, err)
		require.Equal(t, sched.Selected[int]{Index: 1, Value: 1}, first)
		require.Zero(t, last.polls.Load(), "polled although another was done")
		require.EqualValues(t, 1, last.cancels.Load())
	}
	_, err := do(t, rt, sched.SelectBiased[int]())
	require.ErrorIs(t, err, sched.ErrEmpty)
}

func TestABiasedSelectKeepsItsOrderFromPollToPoll(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var order []int
	polls := 0
	note := func(n int) sched.Future[int] {
		return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			order = append(order, n)
			if polls++; polls > 9 && n == 2 {
				return n, nil
			}
			cx.Waker().Wake()
			return 0, sched.ErrPending
		})
	}
	_, err := do(t, rt, sched.SelectBiased(note(0), note(1), note(2)))
	require.NoError(t, err)
	for i, n := range order {
		require.Equal(t, i%3, n, "%v", order)
	}
}

func TestASleepIsElapsedWhenItsTimeHasComePolledOrNot(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			s := sched.Sleep(ms)
			must(!s.IsElapsed(), "before its first poll")
			await(cx, sched.Race(sched.Future[struct{}](keep{s}), sched.Yield()))
			must(!s.IsElapsed(), "at once")
			rt.Advance(ms)
			must(s.IsElapsed(), "not polled since")
			await(cx, s)
			must(s.IsElapsed(), "after it was done")
			s.Reset(ms)
			must(!s.IsElapsed(), "after a reset")
		})
	})
}

// keep is a future that a combinator may drop.
type keep struct{ sched.Future[struct{}] }

func TestPeekIsTheKeyOfWhatExpiresNext(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			q := sched.NewDelayQueue[string](rt)
			_, ok := q.Peek()
			must(!ok, "an empty queue")
			late := q.Insert("late", time.Hour)
			soon := q.Insert("soon", 70*ms)
			q.Insert("as soon", 70*ms)
			for range 2 { // polls that take nothing
				key, ok := q.Peek()
				at, there := q.Deadline(key)
				must(ok && key == soon && there && at == 70*ms, "%v %v", key, at)
			}
			must(q.ResetAt(soon, 2*time.Hour), "no such value")
			key, _ := q.Peek()
			v, _ := q.Remove(key)
			must(v == "as soon", "it was %q", v)
			rt.Advance(3 * time.Hour)
			key, ok = q.Peek()
			must(ok && key == late, "its time has come, and nobody has taken it")
			must(next(cx, q).Value == "late", "taken in the same order")
			_, there := q.Deadline(late)
			must(!there, "a void key has a deadline")
		})
	})
}
