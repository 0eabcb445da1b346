package sched_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A named body occupies its worker until it may leave. Reports call it by its name.
type named struct {
	name        string
	busy, leave chan struct{}
	described   func() // called within a report
}

func (n *named) Run(*sched.Context) bool {
	close(n.busy)
	<-n.leave
	return true
}

func (n *named) DescribeTask() (handler, peer string) {
	n.described()
	return n.name, "peer of " + n.name
}

// runNamed lets a task of that name run for d. early: the run ends before its report has named it.
func runNamed(t *testing.T, rt *sched.Runtime, name string, d time.Duration, early bool) {
	t.Helper()
	n := &named{name: name, busy: make(chan struct{}), leave: make(chan struct{})}
	end := func() {
		close(n.leave)
		atRest(t, rt)
	}
	n.described = func() {
		if early {
			end()
		}
	}
	task := new(sched.Task)
	task.Init(rt, n)
	task.Wake()
	receive(t, "it runs", n.busy)
	rt.Advance(d)
	if !early {
		end()
	}
}

func TestTheTimesOfSlowRunsAreOfTheirHandlers(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt, _ := pausedSlow(t, sched.Config{Workers: workers})
		atRest(t, rt)
		runNamed(t, rt, "a", slowTask, false)
		runNamed(t, rt, "b", 3*slowTask, false)
		runNamed(t, rt, "a", 4*slowTask, false)
		all := rt.SlowHandlers()
		require.Len(t, all, 2)
		a, b := all[0], all[1]
		require.NotEmpty(t, a.Stack, "its first run was logged")
		require.Equal(t, sched.SlowHandler{Handler: "a", Runs: 2, Total: 5 * slowTask, Max: 4 * slowTask, Peer: "peer of a"}, withoutStack(a))
		require.Equal(t, sched.SlowHandler{Handler: "b", Runs: 1, Total: 3 * slowTask, Max: 3 * slowTask, Peer: "peer of b"}, withoutStack(b))
	}
}

// withoutStack is what h is as long as it has no stack.
func withoutStack(h sched.SlowHandler) sched.SlowHandler {
	return sched.SlowHandler{Handler: h.Handler, Runs: h.Runs, Total: h.Total, Max: h.Max, Peer: h.Peer}
}

// Such a run has no handler when it ends, so its time is counted for none.
func TestTheTimeOfARunThatEndsBeforeItsReportIsOfNoOtherHandler(t *testing.T) {
	rt, _ := pausedSlow(t, sched.Config{Workers: 1})
	atRest(t, rt)
	runNamed(t, rt, "first", slowTask, true)
	runNamed(t, rt, "second", 2*slowTask, true)
	runNamed(t, rt, "third", 3*slowTask, false)
	totals := make(map[string]time.Duration)
	for _, h := range rt.SlowHandlers() {
		require.EqualValues(t, 1, h.Runs)
		totals[h.Handler] = h.Total
	}
	require.Equal(t, map[string]time.Duration{"first": 0, "second": 0, "third": 3 * slowTask}, totals)
}

// One of the handlers has no name, as a task that was reported without its stack.
func TestARuntimeRemembersTheFirstSlowHandlers(t *testing.T) {
	const most = 128
	rt, l := pausedSlow(t, sched.Config{Workers: 1})
	atRest(t, rt)
	runNamed(t, rt, "", slowTask, false)
	for i := range most {
		runNamed(t, rt, fmt.Sprint(i), slowTask, false)
	}
	require.Len(t, l.take(), most+1)
	all := rt.SlowHandlers()
	require.Len(t, all, most)
	for _, h := range all {
		require.Equal(t, slowTask, h.Total, "%q", h.Handler)
		require.NotEqual(t, fmt.Sprint(most-1), h.Handler)
	}
}
