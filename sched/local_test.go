package sched_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

var (
	localName  sched.Local[string]
	localOther sched.Local[string]
)

func getName(cx *sched.Context) string {
	v, ok := localName.Get(cx)
	must(ok == (v != ""), "%q %v", v, ok)
	return v
}

func TestALocalHasItsValueWithinTheScopeAlsoAcrossAwaits(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[struct{}]
		for _, name := range []string{"a", "b", "c"} { // these take turns
			set.Go(rt, func(cx *sched.Context) (struct{}, error) {
				must(getName(cx) == "", "a value from elsewhere")
				localName.With(cx, name, func() {
					for range 20 {
						await(cx, sched.Yield())
						must(getName(cx) == name, "%q", getName(cx))
					}
					localName.With(cx, "inner", func() { must(getName(cx) == "inner", "%q", getName(cx)) })
					must(getName(cx) == name, "%q", getName(cx))
					_, ok := localOther.Get(cx)
					must(!ok, "another Local has it")
					child := sched.Go(cx, func(cx *sched.Context) (string, error) { return getName(cx), nil })
					must(await(cx, child) == "", "a child inherits")
				})
				must(getName(cx) == "", "after its scope")
				return struct{}{}, nil
			})
		}
		results, err := do(t, rt, set.JoinAll())
		require.NoError(t, err)
		for _, r := range results {
			require.NoError(t, r.Err)
		}
	})
}

// waitsOnce is pending once. Its value is the Local's, which it must see in both polls.
func waitsOnce() sched.Future[string] {
	polled := ""
	return sched.FutureFunc[string](func(cx *sched.Context) (string, error) {
		v := getName(cx)
		if polled == "" {
			polled = v
			cx.Waker().Wake()
			return "", sched.ErrPending
		}
		must(polled == v, "%q and then %q", polled, v)
		return v, nil
	})
}

func TestAScopedFutureSeesItsOwnValueInEveryPoll(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		branches := func() sched.Future[[]string] {
			return sched.Join(sched.Scoped(&localName, "a", waitsOnce()), sched.Scoped(&localName, "b", waitsOnce()))
		}
		got, err := do(t, rt, branches()) // in a stackless task
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, got)
		inTask(t, rt, func(cx *sched.Context) {
			localName.With(cx, "outer", func() {
				got := await(cx, branches())
				must(got[0] == "a" && got[1] == "b", "%v", got)
				must(getName(cx) == "outer", "%q", getName(cx))
			})
		})
		got, err = sched.Block(context.Background(), rt, branches())
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, got)
	})
}

func TestAScopeEndsWithAPanicAnExitAndAnAbort(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	for _, end := range []func(){func() { panic("oh") }, runtime.Goexit} {
		_, err := do(t, rt, sched.Scoped(&localName, "stackless", sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			end()
			return 0, nil
		})))
		require.Error(t, err)
		_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			localName.With(cx, "stackful", end)
			return 0, nil
		}))
		require.Error(t, err)
	}
	waits := make(chan struct{})
	aborted := sched.Go(rt, func(cx *sched.Context) (int, error) {
		localName.With(cx, "aborted", func() {
			close(waits)
			_, _ = sched.Await(cx, sched.Sleep(time.Hour))
		})
		return 0, nil
	})
	receive(t, "a task waits", waits)
	aborted.Abort()
	_, err := outcome(t, aborted)
	require.NoError(t, err)

	p := new(probe[string])
	dropped := sched.Spawn(rt, sched.Scoped(&localName, "dropped", sched.Future[string](p)))
	p.polled(t)
	dropped.Abort()
	_, err = outcome(t, dropped)
	require.ErrorIs(t, err, sched.ErrCanceled)
	require.EqualValues(t, 1, p.cancels.Load())

	seen, err := do(t, rt, sched.FutureFunc[string](func(cx *sched.Context) (string, error) { return getName(cx), nil }))
	require.NoError(t, err)
	require.Empty(t, seen, "left on the worker")
	seen, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (string, error) { return getName(cx), nil }))
	require.NoError(t, err)
	require.Empty(t, seen, "left on a stack that is used again")
}
