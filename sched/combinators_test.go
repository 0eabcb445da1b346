package sched_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A probe is a future that is pending until it gets its result, and counts its calls.
type probe[T any] struct {
	polls, cancels atomic.Int64
	onCancel       func()

	mu    sync.Mutex
	done  bool
	value T
	err   error
	waker sched.Waker
}

func (p *probe[T]) Poll(cx *sched.Context) (T, error) {
	p.polls.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.waker = cx.Waker()
		return p.value, sched.ErrPending
	}
	return p.value, p.err
}

func (p *probe[T]) Cancel() {
	p.cancels.Add(1)
	if p.onCancel != nil {
		p.onCancel()
	}
}

func (p *probe[T]) finish(v T, err error) {
	p.mu.Lock()
	p.done, p.value, p.err = true, v, err
	w := p.waker
	p.mu.Unlock()
	w.Wake()
}

func (p *probe[T]) polled(t testing.TB) {
	t.Helper()
	eventually(t, "a future is polled", func() bool { return p.polls.Load() > 0 })
}

// outcome is a task's result, with any error.
func outcome[T any](t testing.TB, h *sched.JoinHandle[T]) (T, error) {
	t.Helper()
	type result struct {
		v   T
		err error
	}
	got := make(chan result, 1)
	go func() {
		v, err := h.Wait(context.Background())
		got <- result{v, err}
	}()
	r := receive(t, "a task ends", got)
	return r.v, r.err
}

// do is the outcome of a task that runs the future.
func do[T any](t testing.TB, rt *sched.Runtime, f sched.Future[T]) (T, error) {
	t.Helper()
	return outcome(t, sched.Spawn(rt, f))
}

func probes[T any](n int) (ps []*probe[T], fs []sched.Future[T]) {
	for range n {
		p := new(probe[T])
		ps, fs = append(ps, p), append(fs, p)
	}
	return ps, fs
}

// A lease is a result that must be released.
type lease struct{ released *atomic.Int64 }

func (l lease) Release() { l.released.Add(1) }

func TestSelectIsTheFirstThatIsDoneAndAbandonsTheOthers(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		for _, want := range []sched.Selected[string]{
			{Index: 0, Value: "a"}, {Index: 2, Value: "c"}, {Index: 1, Value: "half", Err: io.ErrUnexpectedEOF},
		} {
			ps, fs := probes[string](3)
			h := sched.Spawn(rt, sched.Select(fs...))
			for _, p := range ps {
				p.polled(t)
			}
			ps[want.Index].finish(want.Value, want.Err)
			got, err := outcome(t, h)
			require.NoError(t, err)
			require.Equal(t, want, got)
			for i, p := range ps {
				cancels := int64(1)
				if i == want.Index {
					cancels = 0
				}
				require.Equal(t, cancels, p.cancels.Load(), i)
			}
			require.Len(t, fs, 3)
			require.NotContains(t, fs, nil, "the caller's slice is left alone")
		}
	})
}

func TestRaceIsTheResultOfTheFirstThatIsDone(t *testing.T) {
	rt := start(t, sched.Config{Workers: 2})
	for _, want := range []error{nil, io.EOF} {
		ps, fs := probes[int](2)
		h := sched.Spawn(rt, sched.Race(fs...))
		ps[1].polled(t)
		ps[1].finish(7, want)
		v, err := outcome(t, h)
		require.Equal(t, want, err)
		require.Equal(t, 7, v)
		require.EqualValues(t, 1, ps[0].cancels.Load())
	}
}

func TestSelectOfNothingIsAnError(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	for _, fs := range [][]sched.Future[int]{nil, {nil, nil}} {
		_, err := do(t, rt, sched.Select(fs...))
		require.Equal(t, sched.ErrEmpty, err)
		_, err = do(t, rt, sched.Race(fs...))
		require.Equal(t, sched.ErrEmpty, err)
	}
	got, err := do(t, rt, sched.Select(nil, ready(1, nil)))
	require.NoError(t, err)
	require.Equal(t, sched.Selected[int]{Index: 1, Value: 1}, got, "nil ones are passed over")
}

func TestSelectPrefersNoFuture(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	wins := [3]int{}
	for range 900 { // a new one each time, as a loop would make
		got, err := do(t, rt, sched.Select(ready(1, nil), ready(2, nil), ready(3, nil)))
		require.NoError(t, err)
		wins[got.Index]++
	}
	for _, n := range wins {
		require.Greater(t, n, 150)
	}
}

func TestSelectStartsWithTheNextAtEachPoll(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var order []int
	polled := func(i int) sched.Future[int] {
		return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			order = append(order, i)
			if len(order) < 9 {
				cx.Waker().Wake()
				return 0, sched.ErrPending
			}
			return 0, nil
		})
	}
	_, err := do(t, rt, sched.Select(polled(0), polled(1), polled(2)))
	require.NoError(t, err)
	first := order[0]
	for i, got := range order {
		require.Equal(t, (first+i/3+i%3)%3, got)
	}
}

func TestAnyLetsFuturesOfDifferentTypesRace(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	n, s := new(probe[int]), new(probe[string])
	h := sched.Spawn(rt, sched.Select(sched.Any(n), sched.Any(s)))
	s.polled(t)
	n.polled(t)
	s.finish("done", nil)
	got, err := outcome(t, h)
	require.NoError(t, err)
	require.Equal(t, sched.Selected[any]{Index: 1, Value: "done"}, got)
	require.EqualValues(t, 1, n.cancels.Load())
}

func TestAnAbandonedSelectAbandonsAll(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	ps, fs := probes[int](3)
	h := sched.Spawn(rt, sched.Race(fs...))
	ps[0].polled(t)
	h.Abort()
	_, err := outcome(t, h)
	require.ErrorIs(t, err, sched.ErrCanceled)
	for _, p := range ps {
		require.EqualValues(t, 1, p.cancels.Load())
	}
}

func TestALoserWhoseCancelPanicsDoesNotKeepTheOthersFromBeingTold(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	bad := errors.New("bad")
	for _, combine := range []func(...sched.Future[int]) sched.Future[int]{
		sched.Race[int],
		func(fs ...sched.Future[int]) sched.Future[int] {
			join := sched.Join(fs...)
			return sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				_, err := join.Poll(cx)
				return 0, err
			})
		},
	} {
		ps, fs := probes[int](5)
		for _, i := range []int{0, 2, 3} {
			ps[i].onCancel = func() { panic(bad) }
		}
		h := sched.Spawn(rt, combine(fs...))
		ps[4].polled(t)
		ps[1].finish(0, io.EOF)
		_, err := outcome(t, h)
		require.ErrorIs(t, err, bad)
		for i, p := range ps {
			if i != 1 {
				require.EqualValues(t, 1, p.cancels.Load(), i)
			}
		}
	}
}
