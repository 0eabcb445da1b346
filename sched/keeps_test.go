package sched_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

// heavy is a future that the test can see the end of: a cleanup runs once nothing refers to it.
type heavy struct {
	gate
	_ [1 << 10]byte
}

func newHeavy(freed chan struct{}) *heavy {
	h := new(heavy)
	runtime.AddCleanup(h, func(c chan struct{}) { close(c) }, freed)
	return h
}

// A handle of a task that has ended keeps neither the task's future nor its function.
func TestNoHandleKeepsWhatHasEnded(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var taken, left sched.JoinSet[string]
	var tracker sched.TaskTracker
	var kept []any
	for name, spawn := range map[string]func(h *heavy) (keep any, done func() bool){
		"the AbortHandle of a future": func(h *heavy) (any, func() bool) {
			a := taken.Spawn(rt, h)
			return a, func() bool { _, ok := taken.TryJoinNext(); return ok && a.Done() }
		},
		"the AbortHandle of a function": func(h *heavy) (any, func() bool) {
			a := taken.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await(cx, h) })
			return a, func() bool { _, ok := taken.TryJoinNext(); return ok && a.Done() }
		},
		"a set whose result nobody has taken": func(h *heavy) (any, func() bool) {
			a := left.Spawn(rt, h)
			return nil, a.Done
		},
		"a set whose function's result nobody has taken": func(h *heavy) (any, func() bool) {
			a := left.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await(cx, h) })
			return nil, a.Done
		},
		"a JoinHandle": func(h *heavy) (any, func() bool) {
			j := sched.Spawn(rt, sched.Future[string](h))
			return j, j.Done
		},
		"a JoinHandle of a function": func(h *heavy) (any, func() bool) {
			j := sched.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await(cx, h) })
			return j, j.Done
		},
		"a tracked future": func(h *heavy) (any, func() bool) {
			f := sched.Track(&tracker, sched.Future[string](h))
			return f, sched.Spawn(rt, f).Done
		},
	} {
		freed := make(chan struct{})
		func() {
			h := newHeavy(freed)
			keep, done := spawn(h)
			kept = append(kept, keep)
			eventually(t, "the task waits", func() bool { return h.polls.Load() > 0 })
			h.Open("")
			eventually(t, "the task ends", done)
		}()
		schedtest.IsFreed(t, name+" keeps nothing", freed)
	}
	runtime.KeepAlive(kept)
	require.Equal(t, 2, left.Len())
}
