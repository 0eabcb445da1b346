package sched_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A note is deferred work that counts its calls.
type note struct {
	calls   int
	context *sched.Context
	again   *note
}

func (n *note) BeforeWait(cx *sched.Context) {
	n.calls++
	n.context = cx
	if n.again != nil {
		cx.Defer(n.again)
	}
}

func TestDeferredWorkIsDoneBeforeTheFunctionWaits(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	behind := new(note)
	first, second := &note{again: behind}, new(note)
	var counts [][3]int
	var own *sched.Context
	_, err := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		own = cx
		count := func() { counts = append(counts, [3]int{first.calls, second.calls, behind.calls}) }
		cx.Defer(first)
		cx.Defer(second)
		count()
		_, err := sched.Await(cx, sched.Yield())
		count()
		_, again := sched.Await(cx, sched.Yield())
		count()
		cx.Defer(second)
		cx.BlockInPlace(count)
		return struct{}{}, errors.Join(err, again)
	}).Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, [][3]int{{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {1, 2, 1}}, counts)
	require.Same(t, own, first.context)
}

// An Await of a future that is done at once does not wait.
func TestAnAwaitThatDoesNotWaitDoesNoDeferredWork(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	n, during := new(note), -1
	_, err := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		cx.Defer(n)
		v, err := sched.Await(cx, sched.FutureFunc[struct{}](func(*sched.Context) (struct{}, error) { return struct{}{}, nil }))
		during = n.calls
		return v, err
	}).Wait(t.Context())
	require.NoError(t, err)
	require.Zero(t, during)
	require.Equal(t, 1, n.calls)
}

func TestDeferredWorkIsDoneAtTheEndOfTheFunction(t *testing.T) {
	for name, end := range map[string]func(){
		"return": func() {},
		"panic":  func() { panic("at the end") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			rt := sched.New(sched.Config{Workers: 1})
			defer rt.Close()
			n := new(note)
			_, _ = sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
				cx.Defer(n)
				end()
				return struct{}{}, nil
			}).Wait(t.Context())
			require.Equal(t, 1, n.calls)
		})
	}
}

// In a stackless task no function waits.
func TestDeferredWorkOfAnotherContextIsDoneAtOnce(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	n, during := new(note), 0
	_, err := sched.Block(t.Context(), rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
		cx.Defer(n)
		during = n.calls
		return struct{}{}, nil
	}))
	require.NoError(t, err)
	require.Equal(t, 1, during)
	require.Equal(t, 1, n.calls)
}

// The function of a Body's Coroutine can suspend itself only after BeforeSuspend, which does the
// work.
func TestDeferredWorkOfCoroutines(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	waits, ends := new(note), new(note)
	var calls int
	h := newHost(rt)
	h.fns = []func(*sched.Context) error{func(cx *sched.Context) error {
		cx.Defer(waits)
		cx.Wake(cx.Waker())
		h.cs[0].BeforeSuspend().Suspend()
		calls = waits.calls
		cx.Defer(ends)
		return nil
	}}
	h.cs, h.done = make([]sched.Coroutine, 1), make([]bool, 1)
	require.NoError(t, rt.Start())
	h.task.Wake()
	require.Equal(t, []error{nil}, <-h.ended)
	require.Equal(t, []int{1, 1, 1}, []int{calls, waits.calls, ends.calls})
}
