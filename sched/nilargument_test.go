package sched_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A nil future or function panics in the call that passes it, and leaves nothing behind.
func TestANilFutureOrFunctionPanicsAtTheCall(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var set, closed sched.JoinSet[int]
	closed.Close()
	var scope sched.TaskScope
	var tracker sched.TaskTracker
	some := ready(1, nil)
	for name, call := range map[string]func(){
		"Spawn":              func() { sched.Spawn[int](rt, nil) },
		"Go":                 func() { sched.Go[int](rt, nil) },
		"JoinSet.Spawn":      func() { set.Spawn(rt, nil) },
		"JoinSet.Go":         func() { set.Go(rt, nil) },
		"a closed JoinSet":   func() { closed.Spawn(rt, nil) },
		"a closed JoinSet's": func() { closed.Go(rt, nil) },
		"TaskScope.Spawn":    func() { scope.Spawn(rt, nil) },
		"TaskScope.Go":       func() { scope.Go(rt, nil) },
		"SpawnTracked":       func() { sched.SpawnTracked[int](rt, &tracker, nil) },
		"GoTracked":          func() { sched.GoTracked[int](rt, &tracker, nil) },
		"Track":              func() { sched.Track[int](&tracker, nil) },
		"Join":               func() { sched.Join(some, nil) },
		"Join2":              func() { sched.Join2[int, int](some, nil) },
		"Join3":              func() { sched.Join3[int, int, int](some, some, nil) },
		"JoinAll":            func() { sched.JoinAll(nil, some) },
		"Any":                func() { sched.Any[int](nil) },
		"Timeout":            func() { sched.Timeout[int](time.Second, nil) },
		"TimeoutAt":          func() { sched.TimeoutAt[int](time.Second, nil) },
		"Shield":             func() { sched.Shield[int](nil) },
		"Unconstrained":      func() { sched.Unconstrained[int](nil) },
		"Deadline":           func() { sched.Deadline[int](time.Now(), nil) },
		"WithContext":        func() { sched.WithContext[int](context.Background(), nil) },
		"AfterFunc":          func() { rt.AfterFunc(time.Hour, nil) },
		"Block":              func() { _, _ = sched.Block[int](context.Background(), rt, nil) },
		"Wait":               func() { _, _ = sched.Await[int](context.Background(), nil) },
	} {
		require.Panics(t, call, name)
	}
	require.Zero(t, set.Len())
	require.Zero(t, scope.Len())
	require.Zero(t, tracker.Len())
	require.Zero(t, rt.Tasks())
}
