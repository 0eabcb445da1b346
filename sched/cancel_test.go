package sched_test

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

type badLease struct{}

func (badLease) Release() { panic("in Release") }

func TestAPanicInReleaseIsLoggedAndTheWorkerLives(t *testing.T) {
	log := new(lockedBuffer)
	rt := start(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(log, nil))})
	sched.Spawn(rt, ready(badLease{}, nil)).Detach() // before it runs, or after
	h := sched.Spawn(rt, ready(badLease{}, nil))
	eventually(t, "the task ends", h.Done)
	h.Detach()
	pass(t, rt, 0)
	require.Contains(t, log.String(), "in Release")
	require.Contains(t, log.String(), "badLease")
}

func TestAPanicInCancelIsTheTasksError(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		bad := errors.New("in Cancel")
		p := &probe[int]{onCancel: func() { panic(bad) }}
		h := sched.Spawn(rt, p)
		p.polled(t)
		h.Abort()
		_, err := outcome(t, h)
		var pe *sched.PanicError
		require.ErrorAs(t, err, &pe)
		require.Equal(t, bad, pe.Value)
		require.Contains(t, string(pe.Stack), "probe")
		for home := range rt.Workers() {
			pass(t, rt, home)
		}
	})
}

// Both Poll and Cancel panic.
func TestAPanicInPollGoesBeforeOneInCancel(t *testing.T) {
	log := new(lockedBuffer)
	rt := start(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(log, nil))})
	p := &probe[int]{onCancel: func() { panic("second") }}
	_, err := do(t, rt, sched.Race(p, sched.FutureFunc[int](func(*sched.Context) (int, error) { return raise("first") })))
	var pe *sched.PanicError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, "first", pe.Value)
	require.Contains(t, string(pe.Stack), "raise")
	require.Contains(t, log.String(), "second")
	require.EqualValues(t, 1, p.cancels.Load())
	pass(t, rt, 0)
}

func TestATaskThatSleepsLongIsGoneAtOnceWhenAborted(t *testing.T) {
	onBubbles(t, func(t *testing.T, rt *sched.Runtime) {
		const d = 100 * time.Second
		began, cleaned := rt.Now(), false
		p := new(probe[struct{}])
		stackless := sched.Spawn(rt, sched.Race(sched.Sleep(d), p))
		stackful := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			defer func() { cleaned = true }()
			return sched.Await(cx, sched.Sleep(d))
		})
		synctest.Wait()
		require.Equal(t, 2, rt.Timers())
		for _, h := range []*sched.JoinHandle[struct{}]{stackless, stackful} {
			require.False(t, h.Done())
			h.Abort()
			_, err := h.Wait(t.Context())
			require.Equal(t, sched.ErrCanceled, err)
		}
		require.True(t, cleaned)
		require.EqualValues(t, 1, p.cancels.Load())
		require.Zero(t, rt.Timers())
		require.Equal(t, began, rt.Now(), "no time has passed")
	})
}

func TestAnAbortedTaskThatHasNotRunNeverDoes(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	release := occupy(t, rt, 0)
	p := new(probe[int])
	h := sched.Spawn(rt, p)
	called := false
	g := sched.Go(rt, func(*sched.Context) (int, error) { called = true; return 1, nil })
	for range 2 {
		h.Abort()
		g.Abort()
	}
	release()
	for _, h := range []*sched.JoinHandle[int]{h, g} {
		_, err := outcome(t, h)
		require.Equal(t, sched.ErrCanceled, err)
	}
	require.Zero(t, p.polls.Load())
	require.EqualValues(t, 1, p.cancels.Load())
	require.False(t, called)
}

// A future gives back its resources as if it had been aborted, wherever it is polled.
func TestAFutureWhosePollPanickedIsTold(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	holder := func(p *probe[int]) sched.Future[int] {
		panics := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if p.polls.Load() < 2 {
				cx.Waker().Wake()
				return 0, sched.ErrPending
			}
			return raise("here")
		})
		return sched.Timeout(time.Hour, sched.Shield(sched.Race(p, panics)))
	}
	caught := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	for name, poll := range map[string]func(t *testing.T, f sched.Future[int]){
		"stackless": func(t *testing.T, f sched.Future[int]) {
			_, err := do(t, rt, f)
			require.ErrorContains(t, err, "here")
		},
		"stackful": func(t *testing.T, f sched.Future[int]) {
			h := sched.Go(rt, func(cx *sched.Context) (any, error) {
				v := caught(func() { _, _ = sched.Await(cx, f) })
				defer func() { // checks that no shield is up
					if recover() == nil {
						panic("a shield was left")
					}
				}()
				cx.Unshield()
				return v, nil
			})
			_, err := outcome(t, h)
			require.NoError(t, err)
		},
		"Block": func(t *testing.T, f sched.Future[int]) {
			require.Equal(t, "here", caught(func() { _, _ = sched.Block(t.Context(), rt, f) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := new(probe[int])
			poll(t, holder(p))
			require.EqualValues(t, 1, p.cancels.Load())
			require.Zero(t, rt.Timers())
		})
	}
}
