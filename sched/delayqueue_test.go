package sched_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func next[T any](cx *sched.Context, q *sched.DelayQueue[T]) sched.Expired[T] {
	e, err := q.Next(cx)
	must(err == nil, "%v", err)
	return e
}

func TestADelayQueueGivesOutItsValuesInOrderOfTheirTimesAndNoneEarly(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			q := sched.NewDelayQueue[time.Duration](rt)
			delays := []time.Duration{5 * time.Second, 0, 300 * 24 * time.Hour, 70 * ms, 64 * ms, time.Hour, -time.Second, 4096 * ms, 61*ms + 1}
			for _, d := range delays {
				q.Insert(d, d)
			}
			must(q.Len() == len(delays), "%d values", q.Len())
			slices.Sort(delays)
			delays[0], delays[1] = delays[1], delays[0] // 0 was inserted first, and both are due
			for _, d := range delays {
				_, ok := q.TryNext()
				must(!ok || d <= 0, "a value too early")
				if ok {
					continue
				}
				e := next(cx, q)
				must(e.Value == d && e.Deadline == d && rt.Now() == expiry(d), "%v at %v instead of %v", e.Value, rt.Now(), d)
			}
			must(q.Len() == 0 && rt.Timers() == 0, "left: %d values, %d timers", q.Len(), rt.Timers())
			for i := range time.Duration(20) { // values with the same time
				q.Insert(i, time.Second)
			}
			for i := range time.Duration(20) {
				must(next(cx, q).Value == i, "out of order")
			}
		})
	})
}

func TestAValueInADelayQueueCanBeMovedAndRemovedByItsKey(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			q := sched.NewDelayQueue[string](rt)
			a, b, c := q.Insert("a", time.Second), q.Insert("b", 2*time.Second), q.Insert("c", 3*time.Second)
			must(q.Reset(a, 10*time.Second) && q.ResetAt(c, time.Second), "keys are void")
			v, ok := q.Remove(b)
			must(ok && v == "b", "removed %q", v)
			_, ok = q.Remove(b)
			must(!ok && !q.Reset(b, 1), "removed twice")
			e := next(cx, q)
			must(e.Value == "c" && e.Key == c && rt.Now() == time.Second, "%v at %v", e.Value, rt.Now())
			d := q.Insert("d", time.Second) // uses the node of a removed value
			must(!q.Reset(b, 1) && !q.Reset(c, 1), "an old key names a new value")
			_, ok = q.Remove(sched.DelayKey{})
			must(!ok, "the zero key names a value")
			must(q.Reset(d, 20*time.Second), "a key is void")
			must(next(cx, q).Value == "a" && rt.Now() == 10*time.Second, "at %v", rt.Now())
			rt.Advance(time.Minute)
			v, ok = q.Remove(d)
			must(ok && v == "d", "due, and not taken yet")
			q.Insert("e", time.Hour)
			q.Insert("f", 0)
			q.Clear()
			_, ok = q.TryNext()
			must(q.Len() == 0 && !ok, "values after Clear")
			q.Insert("never", math.MaxInt64)
			must(!pollNow(cx, sched.Timeout(time.Hour, q.ExpiredFuture())), "never has come")
		})
	})
}

// A change of the first expiry moves the timer of the waiting task.
func TestATaskThatWaitsForADelayQueueHearsOfEarlierValues(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		q := sched.NewDelayQueue[string](rt)
		var mu sync.Mutex
		var got []string
		consumer := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			for {
				e, err := q.Next(cx)
				if err != nil {
					return struct{}{}, err
				}
				mu.Lock()
				got = append(got, fmt.Sprint(e.Value, " ", rt.Now()))
				mu.Unlock()
			}
		})
		inTask(t, rt, func(cx *sched.Context) {
			await(cx, sched.Sleep(time.Second)) // on an empty queue
			late := q.Insert("late", time.Hour)
			await(cx, sched.Sleep(time.Second))
			q.Insert("early", time.Second)
			await(cx, sched.Sleep(2*time.Second))
			gone := q.Insert("gone", time.Second)
			await(cx, sched.Sleep(ms))
			q.Remove(gone)
			q.Reset(late, time.Minute)
			await(cx, sched.Sleep(2*time.Minute))
		})
		consumer.Abort()
		_, err := outcome(t, consumer)
		require.ErrorIs(t, err, sched.ErrCanceled)
		require.Equal(t, []string{"early 3s", "late 1m4.001s"}, got)
		q.Insert("for nobody", time.Second)
		require.Zero(t, rt.Timers(), "nobody waits")
	})
}

// Of two waiters the first one is woken, and gives up: the other one gets the value.
func TestAnAbandonedWaitForADelayQueueIsTheNextOnes(t *testing.T) {
	onPaused(t, func(t *testing.T, rt *sched.Runtime) {
		inTask(t, rt, func(cx *sched.Context) {
			q := sched.NewDelayQueue[int](rt)
			first, woken := q.ExpiredFuture(), 0
			h1 := sched.Spawn(cx, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				if woken++; woken == 2 {
					first.(sched.Canceler).Cancel() // while the value is available
					return 0, nil
				}
				_, err := first.Poll(cx)
				return 0, err
			}))
			await(cx, sched.Sleep(ms))
			h2 := sched.Go(cx, func(cx *sched.Context) (int, error) { return next(cx, q).Value, nil })
			await(cx, sched.Sleep(ms))
			q.Insert(7, time.Second)
			await(cx, h1)
			must(await(cx, h2) == 7, "the value is lost")
			must(rt.Now() == 1002*ms, "at %v", rt.Now())
		})
	})
}

func TestAGoroutineTakesFromADelayQueue(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2, Paused: true}.Endless())
	q := sched.NewDelayQueue[int](rt)
	q.Insert(1, time.Hour)
	e, err := q.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, e.Value)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = q.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, shut(t, rt))
	_, err = q.Next(t.Context())
	require.Equal(t, sched.ErrClosed, err)
}

// Workers compete for the values, in real time and in virtual time. Each value is taken once, and
// not early.
func TestManyTasksTakeEachValueOfADelayQueueOnce(t *testing.T) {
	for _, paused := range []bool{false, true} {
		for _, workers := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("paused %v/%d", paused, workers), func(t *testing.T) {
				rt := start(t, sched.Config{Workers: workers, Paused: paused}.Endless())
				q := sched.NewDelayQueue[int](rt)
				n := rounds(20_000)
				seen, removed := make([]atomic.Int32, n), atomic.Int32{}
				var left atomic.Int64
				left.Store(int64(n))
				var consumers []*sched.JoinHandle[int]
				for range 5 {
					consumers = append(consumers, sched.Go(rt, func(cx *sched.Context) (int, error) {
						for {
							e, err := q.Next(cx)
							if err != nil {
								return 0, err
							}
							must(e.Deadline <= rt.Now(), "early")
							seen[e.Value].Add(1)
							left.Add(-1)
						}
					}))
				}
				var impatient []*sched.JoinHandle[int]
				for range 2 { // their waits end again and again
					impatient = append(impatient, sched.Go(rt, func(cx *sched.Context) (int, error) {
						f := q.ExpiredFuture()
						for left.Load() > 0 {
							if e, err := sched.Await(cx, sched.Timeout(time.Millisecond/2, f)); err == nil {
								seen[e.Value].Add(1)
								left.Add(-1)
							}
						}
						return 0, nil
					}))
				}
				var producers sync.WaitGroup
				for p := range 3 {
					producers.Go(func() {
						rng := rand.New(rand.NewPCG(uint64(p), 5))
						var keys []sched.DelayKey
						for i := p; i < n; i += 3 {
							keys = append(keys, q.Insert(i, time.Duration(rng.Int64N(int64(20*ms)))))
							switch key := keys[rng.IntN(len(keys))]; rng.IntN(4) {
							case 0:
								q.Reset(key, time.Duration(rng.Int64N(int64(20*ms))))
							case 1:
								if v, ok := q.Remove(key); ok {
									seen[v].Add(1)
									removed.Add(1)
									left.Add(-1)
								}
							}
						}
					})
				}
				awaitAll(t, &producers)
				eventually(t, "all are taken", func() bool { return left.Load() == 0 })
				for i := range seen {
					require.EqualValues(t, 1, seen[i].Load(), "value %d", i)
				}
				require.Zero(t, q.Len())
				for _, h := range consumers {
					h.Abort()
				}
				for _, h := range append(consumers, impatient...) {
					outcome(t, h)
				}
			})
		}
	}
}

func TestADelayQueueInSteadyStateAllocatesNothing(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Paused: true})
	inTask(t, rt, func(cx *sched.Context) {
		q := sched.NewDelayQueue[int](rt)
		round := func() {
			key := q.Insert(1, time.Millisecond)
			q.Remove(q.Insert(2, time.Hour))
			q.Reset(key, 2*time.Millisecond)
			next(cx, q)
		}
		round()
		n := testing.AllocsPerRun(1000, round)
		must(n < 0.1 || sched.Slow, "%v allocations", n) // under the race detector sync.Pool drops some of its items
	})
}
