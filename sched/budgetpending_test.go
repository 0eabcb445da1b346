package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// unspent polls a future that is pending, in a task, and returns the budget that is left after it.
func unspent[T any](t *testing.T, rt *sched.Runtime, f sched.Future[T]) int {
	t.Helper()
	left, err := do(t, rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		_, err := f.Poll(cx)
		require.Equal(t, sched.ErrPending, err)
		left := proceedToTheEnd(cx)
		if c, ok := f.(sched.Canceler); ok {
			c.Cancel()
		}
		return left, nil
	}))
	require.NoError(t, err)
	return left
}

func TestAPendingPollTakesNothingFromTheBudget(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var set sched.JoinSet[int]
	set.Spawn(rt, new(dropped))
	t.Cleanup(set.Close)
	q := sched.NewDelayQueue[int](rt)
	q.Insert(1, time.Hour)
	ticks := sched.NewIntervalAt(time.Hour, time.Hour)
	ch := make(chan int)
	require.Equal(t, budget, unspent(t, rt, set.JoinNext()), "JoinNext")
	require.Equal(t, budget, unspent(t, rt, set.JoinAll()), "JoinAll of a set")
	require.Equal(t, budget, unspent(t, rt, q.ExpiredFuture()), "DelayQueue")
	require.Equal(t, budget, unspent[time.Duration](t, rt, ticks), "Interval")
	require.Equal(t, budget, unspent(t, rt, sched.Recv(ch)), "Recv")
	require.Equal(t, budget, unspent(t, rt, sched.Recv[int](nil)), "Recv of nil")
	require.Equal(t, budget, unspent[struct{}](t, rt, sched.Sleep(time.Hour)), "Sleep")
	require.Equal(t, budget, unspent(t, rt, sched.Select(set.JoinNext(), set.JoinNext())), "Select")
	require.Equal(t, budget, unspent(t, rt, sched.Race(set.JoinNext(), set.JoinNext())), "Race")
	require.Equal(t, budget, unspent(t, rt, sched.Join(set.JoinNext(), set.JoinNext())), "Join")
	require.Equal(t, budget, unspent[int](t, rt, sched.Timeout(time.Hour, set.JoinNext())), "Timeout")
}

// Each future that waits before the last one would take a unit if a pending poll cost one.
func TestAJoinOfManyPendingFuturesReachesTheLast(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var open sched.CancellationToken
		var sets [2*budget + 1]sched.JoinSet[int]
		var fs []sched.Future[int]
		for i := range sets {
			sets[i].Go(rt, func(cx *sched.Context) (int, error) {
				if i < 2*budget {
					_, err := sched.Await(cx, open.Canceled())
					return i, err
				}
				return i, nil
			})
			fs = append(fs, sets[i].JoinNext())
		}
		last := fs[2*budget]
		fs[2*budget] = sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			v, err := last.Poll(cx)
			if err == nil {
				open.Cancel()
			}
			return v, err
		})
		all, err := do(t, rt, sched.Join(fs...))
		require.NoError(t, err)
		require.Equal(t, 2*budget, all[2*budget])
	})
}

// A future that uses up the budget in each poll until another one is done.
func TestAJoinPollsTheFuturesBehindOneThatUsesUpTheBudget(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		over := false
		greedy := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			for cx.Proceed() {
				if over {
					return 1, nil
				}
			}
			return 0, sched.ErrPending
		})
		modest := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if !cx.Proceed() {
				return 0, sched.ErrPending
			}
			over = true
			return 2, nil
		})
		values, err := do(t, rt, sched.Join[int](greedy, modest))
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, values)
		over = false
		pair, err := do(t, rt, sched.Join2[int, int](greedy, modest))
		require.NoError(t, err)
		require.Equal(t, sched.Pair[int, int]{First: 1, Second: 2}, pair)
	})
}

func TestALoopOfSelectsLetsOthersRun(t *testing.T) {
	ready := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 1, nil })
	for name, choose := range map[string]func() sched.Future[int]{
		"Select": func() sched.Future[int] {
			return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				first, err := sched.Select[int](ready, new(dropped)).Poll(cx)
				return first.Value, err
			})
		},
		"SelectBiased": func() sched.Future[int] {
			return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				first, err := sched.SelectBiased[int](new(dropped), ready).Poll(cx)
				return first.Value, err
			})
		},
		"Race": func() sched.Future[int] { return sched.Race[int](ready, new(dropped)) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				var stop atomic.Bool
				stackful := sched.Go(rt, func(cx *sched.Context) (int, error) {
					for !stop.Load() {
						if _, err := sched.Await(cx, choose()); err != nil {
							return 0, err
						}
					}
					return 0, nil
				})
				stackless := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
					for !stop.Load() {
						if _, err := choose().Poll(cx); err != nil {
							return 0, err
						}
					}
					return 0, nil
				}))
				for range rt.Workers() {
					_, err := do(t, rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, nil }))
					require.NoError(t, err)
				}
				stop.Store(true)
				_, err := outcome(t, stackful)
				require.NoError(t, err)
				_, err = outcome(t, stackless)
				require.NoError(t, err)
			})
		})
	}
}

func TestARuntimeClosesDuringALoopOfSelects(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	require.NoError(t, rt.Start())
	ready := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 1, nil })
	began := make(chan struct{}, 1)
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		began <- struct{}{}
		for {
			if _, err := sched.Await(cx, sched.Select[int](ready, new(dropped))); err != nil {
				return 0, err
			}
		}
	})
	receive(t, "the task runs", began)
	require.NoError(t, shut(t, rt))
	_, err := outcome(t, h)
	require.Error(t, err)
}

func TestASelectTakesOneUnit(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	paid := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
		require.True(t, cx.Proceed())
		return 1, nil
	})
	free := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 1, nil })
	for name, f := range map[string]sched.Future[int]{"its own": free, "that of its future": paid} {
		left, err := do(t, rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			_, err := sched.Select(f).Poll(cx)
			require.NoError(t, err)
			return proceedToTheEnd(cx), nil
		}))
		require.NoError(t, err)
		require.Equal(t, budget-1, left, name)
	}
}
