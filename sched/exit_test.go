package sched_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

var quietly = slog.New(slog.NewTextHandler(io.Discard, nil))

// exits is a future whose Cancel exits its goroutine.
type exits struct {
	atPoll         func()
	polls, cancels atomic.Int64
}

func (e *exits) Poll(*sched.Context) (int, error) {
	e.polls.Add(1)
	if e.atPoll != nil {
		e.atPoll()
	}
	return 0, sched.ErrPending
}

func (e *exits) Cancel() {
	e.cancels.Add(1)
	runtime.Goexit()
}

func TestACancelThatEndsItsGoroutineEndsNoWorker(t *testing.T) {
	for _, workers := range []int{1, 2} {
		for name, c := range map[string]struct {
			atPoll func()
			want   func(err error) bool
		}{
			"after an abort": {want: func(err error) bool { return err == sched.ErrGoexit }},
			"after a panic": {func() { panic("in Poll") }, func(err error) bool {
				p, ok := err.(*sched.PanicError)
				return ok && p.Value == "in Poll"
			}},
			"after an exit": {runtime.Goexit, func(err error) bool { return err == sched.ErrGoexit }},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				rt := start(t, sched.Config{Workers: workers, Logger: quietly})
				for range 20 {
					f := &exits{atPoll: c.atPoll}
					h := sched.Spawn(rt, sched.Future[int](f))
					eventually(t, "it is polled", func() bool { return f.polls.Load() > 0 })
					h.Abort()
					_, err := outcome(t, h)
					require.True(t, c.want(err), "%v", err)
					require.EqualValues(t, 1, f.cancels.Load())
					for home := range workers {
						pass(t, rt, home)
					}
				}
				require.NoError(t, shut(t, rt))
			})
		}
	}
}

// Functions that are called when the workers have ended, or are about to, may also exit their
// goroutine.
func TestWhatExitsAtTheEndOfARuntimeDoesNotHoldItUp(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for name, hooks := range map[string]sched.Hooks{
			"futures":    {},
			"TaskEnd":    {TaskEnd: func(sched.TaskID, error) { runtime.Goexit() }},
			"WorkerStop": {WorkerStop: func(int) { runtime.Goexit() }},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				cfg := sched.Config{Workers: workers, Logger: quietly, Hooks: hooks}
				fakes := make([]*fake, workers)
				for i := range fakes {
					fakes[i] = newFake()
				}
				cfg.NewDriver = func(worker int) (sched.Driver, error) { return fakes[worker], nil }
				rt := sched.New(cfg)
				var handles []*sched.JoinHandle[int]
				var set sched.JoinSet[int]
				for range 10 {
					f, awaited := new(exits), new(probe[int])
					handles = append(handles, sched.Spawn(rt, sched.Future[int](f)),
						sched.Go(rt, func(cx *sched.Context) (int, error) {
							defer runtime.Goexit()
							return sched.Await(cx, sched.Future[int](awaited))
						}))
					set.Spawn(rt, new(exits))
					awaited.polled(t)
					eventually(t, "it waits", func() bool { return f.polls.Load() > 0 })
				}
				require.NoError(t, shut(t, rt))
				for _, h := range handles {
					_, err := outcome(t, h)
					require.Error(t, err)
				}
				for range 10 {
					_, err := sched.Await(context.Background(), set.JoinNext())
					require.Error(t, err)
					require.NotEqual(t, sched.ErrEmpty, err)
				}
				for _, d := range fakes {
					require.Equal(t, 1, d.closes, "each driver is closed")
				}
			})
		}
	}
}

func TestAHookThatPanicsWhenATaskEndsLeavesNobodyWaiting(t *testing.T) {
	for name, fail := range map[string]func(){"panics": func() { panic("in a hook") }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var log syncBuffer
			rt := start(t, sched.Config{Workers: 2, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Hooks: sched.Hooks{TaskEnd: func(sched.TaskID, error) { fail() }}})
			for range 20 {
				late := new(gate)
				h := sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
					_, err := late.Poll(cx)
					return 7, err
				}))
				joined := sched.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await(cx, h) })
				eventually(t, "the task waits", func() bool { return late.polls.Load() > 0 })
				late.Open("")
				v, err := outcome(t, joined)
				require.NoError(t, err)
				require.Equal(t, 7, v)
			}
			require.NoError(t, rt.Shutdown(context.Background()))
			require.Contains(t, log.String(), "a hook")
		})
	}
}

// A syncBuffer is a buffer that several goroutines may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestADriverThatCannotBeMadeIsAnErrorHoweverItFails(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for name, c := range map[string]struct {
		fail func() (sched.Driver, error)
		want string
	}{
		"exits":           {func() (sched.Driver, error) { runtime.Goexit(); return nil, nil }, sched.ErrGoexit.Error()},
		"panics":          {func() (sched.Driver, error) { panic("no device") }, "no device"},
		"panics with nil": {func() (sched.Driver, error) { panic(nil) }, "called with nil"},
		"is none":         {func() (sched.Driver, error) { return nil, nil }, "neither a driver nor an error"},
		"says it pends":   {func() (sched.Driver, error) { return nil, sched.ErrPending }, sched.ErrPending.Error()},
		"has its reasons": {func() (sched.Driver, error) { return nil, io.ErrNoProgress }, io.ErrNoProgress.Error()},
	} {
		for _, failing := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/%d", name, failing), func(t *testing.T) {
				good := newFake()
				rt := sched.New(sched.Config{Workers: 2, Logger: quietly, NewDriver: func(worker int) (sched.Driver, error) {
					if worker == failing {
						return c.fail()
					}
					return good, nil
				}})
				started := make(chan error, 1)
				go func() { started <- rt.Start() }()
				err := receive(t, "Start returns", started)
				require.ErrorContains(t, err, c.want)
				_, joined := outcome(t, sched.Spawn(rt, ready(1, nil)))
				require.Equal(t, err, joined)
				_ = shut(t, rt)
				require.Equal(t, 1, good.closes)
			})
		}
	}
}

func TestErrPendingAsAResultIsAnError(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		pends := func(*sched.Context) (int, error) { return 0, sched.ErrPending }
		_, err := outcome(t, sched.Go(rt, pends))
		require.Equal(t, sched.ErrPendingResult, err)
		_, err = outcome(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			_, _ = sched.Await(cx, sched.Yield())
			return pends(cx)
		}))
		require.Equal(t, sched.ErrPendingResult, err)
		var set sched.JoinSet[int]
		set.Go(rt, pends)
		_, err = do(t, rt, set.JoinNext())
		require.Equal(t, sched.ErrPendingResult, err)
		require.False(t, errors.Is(err, sched.ErrPending))
	})
}
