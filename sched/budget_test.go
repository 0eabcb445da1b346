package sched_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

const budget = 128

func TestARunMayProceed128Times(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		var spent []int // one entry per run
		_, err := wait(t, sched.Spawn(rt, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			if len(spent) == 3 {
				return 0, nil
			}
			spent = append(spent, proceedToTheEnd(cx))
			return 0, sched.ErrPending // the task has been queued again
		})))
		require.NoError(t, err)
		require.Equal(t, []int{budget, budget, budget}, spent)
	})
}

// proceeding is done after a number of polls.
type proceeding struct {
	left, polls int
}

func (p *proceeding) Poll(cx *sched.Context) (int, error) {
	p.polls++
	for ; p.left > 0; p.left-- {
		if !cx.Proceed() {
			return 0, sched.ErrPending
		}
	}
	return p.polls, nil
}

func TestAStackfulTasksBudgetIsOfEachResume(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		polls, err := wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			return sched.Await[int](cx, &proceeding{left: 5 * budget})
		}))
		require.NoError(t, err)
		require.Equal(t, 5, polls)
	})
}

func TestUnconstrainedProceedsForEver(t *testing.T) {
	onEach(t, func(t *testing.T, rt *sched.Runtime) {
		f := func() sched.Future[int] { return sched.Unconstrained[int](&proceeding{left: 100 * budget}) }
		polls, err := wait(t, sched.Spawn(rt, f()))
		require.NoError(t, err)
		require.Equal(t, 1, polls)
		polls, err = wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) {
			if _, err := sched.Await(cx, f()); err != nil {
				return 0, err
			}
			return proceedToTheEnd(cx), nil // its own budget is unchanged
		}))
		require.NoError(t, err)
		require.Equal(t, budget, polls)
	})
}

func TestUnconstrainedPassesACancelOn(t *testing.T) {
	f := new(dropped)
	sched.Unconstrained[int](f).(sched.Canceler).Cancel()
	require.EqualValues(t, 1, f.cancels.Load())
}
