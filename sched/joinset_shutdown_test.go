package sched_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// forever waits until its task is aborted.
func forever(cx *sched.Context) (int, error) {
	return sched.Await(cx, sched.Future[int](new(probe[int])))
}

// A task of the set spawns its successor as its last act.
func TestShutdownAbortsTasksThatEnterTheSetMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var set sched.JoinSet[int]
		begun := make(chan struct{})
		set.Go(rt, func(cx *sched.Context) (int, error) {
			defer set.Go(rt, forever)
			close(begun)
			return forever(cx)
		})
		p := new(probe[int])
		p.onCancel = func() { set.Spawn(rt, new(probe[int])) }
		set.Spawn(rt, p)
		receive(t, "a task waits", begun)
		p.polled(t)
		_, err := do(t, rt, set.Shutdown())
		require.NoError(t, err)
		require.Zero(t, set.Len())

		h := set.Spawn(rt, new(probe[int])) // the Shutdown is over
		require.False(t, h.Done())
		set.Close()
	})
}

// A Shutdown that is abandoned no longer aborts tasks.
func TestAnAbandonedShutdownLetsTasksEnter(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	var set sched.JoinSet[int]
	defer set.Close()
	shielded := new(probe[int])
	set.Spawn(rt, sched.Shield[int](shielded))
	shielded.polled(t)
	var sel sched.Future[sched.Selected[struct{}]] = sched.SelectBiased(set.Shutdown(), ready(struct{}{}, nil))
	_, err := do(t, rt, sel)
	require.NoError(t, err)

	p := new(probe[int])
	set.Spawn(rt, p)
	p.polled(t)
	p.finish(7, nil)
	v, err := do(t, rt, set.JoinNext())
	require.NoError(t, err)
	require.Equal(t, 7, v)
	shielded.finish(0, nil)
}
