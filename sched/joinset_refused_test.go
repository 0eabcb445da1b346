package sched_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// closedRuntime refuses all tasks.
func closedRuntime(t testing.TB) *sched.Runtime {
	t.Helper()
	rt := sched.New(sched.Config{Workers: 1})
	require.NoError(t, rt.Close())
	return rt
}

func TestTheCancelOfARefusedTaskMayUseItsSet(t *testing.T) {
	closed := closedRuntime(t)
	for name, use := range map[string]func(set *sched.JoinSet[int], next sched.Future[int]){
		"Len":      func(set *sched.JoinSet[int], _ sched.Future[int]) { set.Len() },
		"AbortAll": func(set *sched.JoinSet[int], _ sched.Future[int]) { set.AbortAll() },
		"Close":    func(set *sched.JoinSet[int], _ sched.Future[int]) { set.Close() },
		"Spawn":    func(set *sched.JoinSet[int], _ sched.Future[int]) { set.Spawn(closed, new(probe[int])) },
	} {
		t.Run(name, func(t *testing.T) {
			var set sched.JoinSet[int]
			f := new(probe[int])
			f.onCancel = func() { use(&set, set.JoinNext()) }
			spawned := make(chan sched.AbortHandle, 1)
			go func() { spawned <- set.Spawn(closed, f) }()
			h := receive(t, "the spawn returns", spawned)
			require.True(t, h.Done())
			require.EqualValues(t, 1, f.cancels.Load())
			want := map[string]int{"Len": 1, "AbortAll": 1, "Close": 0, "Spawn": 2}[name]
			require.Equal(t, want, set.Len())
			for range want {
				_, err := sched.Await(context.Background(), set.JoinNext())
				require.ErrorIs(t, err, sched.ErrClosed)
			}
			_, err := sched.Await(context.Background(), set.JoinNext())
			require.ErrorIs(t, err, sched.ErrEmpty)
		})
	}
}
