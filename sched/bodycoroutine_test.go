package sched_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A host is a body with some coroutines. Each run of its task resumes all that are not done, and
// the task is done when all are.
type host struct {
	task  sched.Task
	fns   []func(cx *sched.Context) error
	cs    []sched.Coroutine
	done  []bool
	runs  atomic.Int32
	begin bool
	stop  atomic.Bool // cancels them
	ended chan []error
}

func newHost(rt *sched.Runtime, fns ...func(cx *sched.Context) error) *host {
	h := &host{fns: fns, cs: make([]sched.Coroutine, len(fns)), done: make([]bool, len(fns)), ended: make(chan []error, 1)}
	h.task.Init(rt, h)
	return h
}

func (h *host) Run(cx *sched.Context) bool {
	h.runs.Add(1)
	all := true
	for i := range h.cs {
		if h.stop.Load() {
			h.cs[i].Cancel()
		}
		if !h.begin {
			h.done[i] = h.cs[i].Begin(cx, h.fns[i])
		} else if !h.done[i] {
			h.done[i] = h.cs[i].Resume(cx)
		}
		all = all && h.done[i]
	}
	h.begin = true
	if all {
		errs := make([]error, len(h.cs))
		for i := range h.cs {
			errs[i] = h.cs[i].Err()
		}
		h.ended <- errs
	}
	return all
}

func TestABodysCoroutinesAwaitWithItsTasksWaker(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, sched.Config{Workers: workers})
		var g gate
		h := newHost(rt,
			func(cx *sched.Context) error {
				v, err := sched.Await[string](cx, &g)
				if v != "open" {
					err = errors.New(v)
				}
				return err
			},
			func(cx *sched.Context) error {
				_, err := sched.Await(cx, sched.Sleep(time.Millisecond))
				return err
			})
		h.task.Wake()
		eventually(t, "it waits", func() bool { return g.polls.Load() > 0 })
		g.Open("open")
		require.Equal(t, []error{nil, nil}, receive(t, "the end", h.ended))
	}
}

func TestABodysCoroutineThatDoesNotReturnHasTheReasonAsItsError(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	h := newHost(rt,
		func(*sched.Context) error { panic("oh") },
		func(*sched.Context) error { runtime.Goexit(); return nil },
		func(*sched.Context) error { return errFailed })
	h.task.Wake()
	errs := receive(t, "the end", h.ended)
	var p *sched.PanicError
	require.ErrorAs(t, errs[0], &p)
	require.Equal(t, "oh", p.Value)
	require.Equal(t, sched.ErrGoexit, errs[1])
	require.Equal(t, errFailed, errs[2])
	_, err := wait(t, sched.Go(rt, func(*sched.Context) (int, error) { return 0, nil }))
	require.NoError(t, err, "the worker lives")
}

// A coroutine gives back its stack while it still runs on it. For that it may have to end another
// coroutine.
func TestBodysCoroutinesEndInAnyNumberAndManner(t *testing.T) {
	const most, all = 2, 30
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, sched.Config{Workers: workers, Coroutines: most})
		for range 3 {
			fns := make([]func(*sched.Context) error, all)
			for i := range fns {
				fns[i] = func(cx *sched.Context) error {
					if _, err := sched.Await(cx, sched.Yield()); err != nil {
						return err
					}
					switch i % 10 {
					case 3:
						panic(i)
					case 6:
						runtime.Goexit()
					}
					return fmt.Errorf("%d: %w", i, errFailed)
				}
			}
			h := newHost(rt, fns...)
			h.task.Wake()
			for i, err := range receive(t, "the end", h.ended) {
				var p *sched.PanicError
				switch i % 10 {
				case 3:
					require.ErrorAs(t, err, &p)
					require.Equal(t, i, p.Value)
				case 6:
					require.Equal(t, sched.ErrGoexit, err)
				default:
					require.EqualError(t, err, fmt.Sprintf("%d: %v", i, errFailed))
				}
			}
		}
	}
}

// Suspend waits for any event for which the body calls Resume.
func TestABodysCoroutineSuspendsUntilTheNextRun(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var h *host
	steps := make(chan int32, 3)
	h = newHost(rt, func(*sched.Context) error {
		for range 3 {
			steps <- h.runs.Load()
			h.cs[0].BeforeSuspend().Suspend()
		}
		return nil
	})
	for run := range int32(3) {
		h.task.Wake()
		require.Equal(t, run+1, receive(t, "a step", steps))
	}
	h.task.Wake()
	receive(t, "the end", h.ended)
}

func TestACanceledCoroutineOfABodyAwaitsInVainUnlessShielded(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var inner gate
	h := newHost(rt, func(cx *sched.Context) error {
		cx.Shield()
		_, err := sched.Await[string](cx, &inner)
		cx.Unshield()
		if err != nil {
			return err
		}
		_, err = sched.Await(cx, sched.Sleep(time.Hour))
		return err
	})
	h.task.Wake()
	eventually(t, "it waits", func() bool { return inner.polls.Load() > 0 })
	h.stop.Store(true)
	polls := inner.polls.Load()
	h.task.Wake()
	eventually(t, "it goes on waiting", func() bool { return inner.polls.Load() > polls })
	inner.Open("")
	require.Equal(t, []error{sched.ErrCanceled}, receive(t, "the end", h.ended))
}

// When the runtime closes, the deferred calls of waiting functions run.
func TestARuntimeThatClosesUnwindsBodysCoroutines(t *testing.T) {
	for _, workers := range []int{1, 4} {
		rt := start(t, sched.Config{Workers: workers})
		var unwound atomic.Int32
		var hosts []*host
		for range 100 {
			h := newHost(rt, func(cx *sched.Context) error {
				defer unwound.Add(1)
				_, err := sched.Await(cx, sched.Sleep(time.Hour))
				return err
			})
			hosts = append(hosts, h)
			h.task.Wake()
		}
		eventually(t, "all wait", func() bool {
			for _, h := range hosts {
				if h.runs.Load() == 0 {
					return false
				}
			}
			return true
		})
		require.NoError(t, shut(t, rt))
		require.EqualValues(t, 100, unwound.Load())
	}
}

var errFailed = errors.New("failed")
