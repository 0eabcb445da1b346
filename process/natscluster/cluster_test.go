package natscluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/sched"
)

func TestMessagesReachProcessesOfOtherNodes(t *testing.T) {
	all := three(t, nil)
	got := make(chan any, 16)
	pid := sink(t, all[2], process.Options{}, func(m any) { got <- m })
	require.Equal(t, all[2].Node(), pid.Node())
	for i, c := range all {
		for _, m := range []any{"a string", []byte("bytes"), plain{pid, i}, sure{pid, i}} {
			require.NoError(t, c.System().TrySend(pid, m))
			require.Equal(t, m, <-got)
		}
	}
	require.Equal(t, natscluster.ErrUnknownType, all[0].System().TrySend(pid, 5))
	require.Equal(t, natscluster.ErrTooLarge, all[0].System().TrySend(pid, strings.Repeat("x", 1<<20)))
	long := strings.Repeat("x", 50<<10)
	require.NoError(t, all[0].System().TrySend(pid, long))
	require.Equal(t, long, <-got)
}

func TestCallsWaitForProcessesOfOtherNodes(t *testing.T) {
	all := three(t, nil)
	near := all[0].System()
	ref, err := process.Go(all[1].System(), process.Options{}, calculator)
	require.NoError(t, err)
	for x := range 100 {
		a, err := process.Call[question, answer](t.Context(), near, ref.PID(), question{x + 1, 2})
		require.NoError(t, err)
		require.Equal(t, answer{x + 3}, a)
	}
	_, err = process.Call[question, answer](t.Context(), near, ref.PID(), question{0, 2})
	require.Equal(t, &natscluster.RemoteError{Text: "zero"}, err)
	_, err = process.Call[question, answer](t.Context(), near, ref.PID(), question{-1, 2})
	require.Equal(t, process.ErrNoProcess, err, "the process has ended without an answer")
	_, err = process.Call[question, answer](t.Context(), near, ref.PID(), question{1, 2})
	require.Equal(t, process.ErrNoProcess, err, "the process had ended before")

	silent := sink(t, all[1], process.Options{}, func(any) {})
	results := make(chan error, 1)
	_, err = process.Go(near, process.Options{}, func(cx *sched.Context, _ *process.Inbox[any]) error {
		_, err := sched.Await[answer](cx, sched.Timeout(time.Millisecond, process.CallFuture[question, answer](near, silent, question{1, 1})))
		results <- err
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, sched.ErrTimeout, <-results)
}

// watch is a process that reports the end of another one.
func watch(t testing.TB, c *natscluster.Cluster, pid process.PID) <-chan error {
	t.Helper()
	reasons := make(chan error, 1)
	_, err := process.Go(c.System(), process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		self.Demonitor(self.Monitor(pid))
		self.Monitor(pid)
		ev, err := self.ReceiveEvent(cx)
		if err == nil && ev.Type == process.EventDown {
			reasons <- ev.Error
		}
		return err
	})
	require.NoError(t, err)
	return reasons
}

func TestMonitorsLearnOfEndsAtOtherNodes(t *testing.T) {
	all := three(t, nil)
	pid := sink(t, all[1], process.Options{}, func(any) {})
	first, second := watch(t, all[0], pid), watch(t, all[2], pid)
	require.NoError(t, all[0].System().TrySend(pid, "end"))
	for _, reasons := range []<-chan error{first, second} {
		if err := <-reasons; err != process.ErrNoProcess { // a monitor may come after the end
			require.Equal(t, &natscluster.RemoteError{Text: "end"}, err)
		}
	}
	require.Equal(t, process.ErrNoProcess, <-watch(t, all[0], pid))
	killed := sink(t, all[1], process.Options{}, func(any) {})
	done := make(chan error, 1)
	go func() {
		_, err := sched.Await(t.Context(), all[0].System().Done(killed))
		done <- err
	}()
	require.NoError(t, all[1].System().Kill(killed))
	require.Contains(t, []error{process.ErrKilled, process.ErrNoProcess}, <-done)
}

func TestANodeThatLeavesIsLostAtOnce(t *testing.T) {
	all := three(t, func(_ int, cfg *natscluster.Config) { cfg.Lost = patience.Limit })
	cfg := testConfig(all[0].URL())
	fourth, err := natscluster.Join(t.Context(), cfg)
	require.NoError(t, err)
	pid := sink(t, fourth, process.Options{}, func(any) {})
	eventually(t, func() bool { return len(all[0].Nodes()) == 3 })
	require.NoError(t, all[0].System().TrySend(pid, "hello"))
	reasons := watch(t, all[0], pid)
	leave(t, fourth)
	err = <-reasons // the shutdown has killed the process, or the node was lost first
	require.True(t, err == process.ErrKilled || errors.Is(err, process.ErrNoProcess), "%v", err)
	eventually(t, func() bool { return len(all[0].Nodes()) == 2 })
	require.Equal(t, natscluster.ErrNodeLost, all[0].System().TrySend(pid, "hello"))
	require.ErrorIs(t, natscluster.ErrNodeLost, process.ErrNoProcess)
	require.Equal(t, natscluster.ErrNodeLost, <-watch(t, all[0], pid))
}

func TestGroupsSpanNodes(t *testing.T) {
	all := three(t, nil)
	got := make(chan string, 100)
	for i, c := range all {
		pid := sink(t, c, process.Options{}, func(m any) { got <- fmt.Sprint(i, " ", m) })
		require.NoError(t, c.JoinGroup("g", pid))
	}
	eventually(t, func() bool { // the others have heard of the members
		n, err := all[0].Publish(t.Context(), "g", "hello")
		require.NoError(t, err)
		return n == 3
	})
	for seen := map[string]bool{}; len(seen) < 3; {
		seen[<-got] = true
	}
	n, err := all[0].Publish(t.Context(), "g", strings.Repeat("x", 1<<20))
	require.Equal(t, natscluster.ErrTooLarge, err)
	require.Equal(t, 1, n, "the member of this node")
	for _, pid := range all[1].System().Members("g") {
		require.True(t, all[1].System().LeaveGroup("g", pid))
	}
	eventually(t, func() bool {
		n, err := all[0].Publish(t.Context(), "g", "again")
		require.NoError(t, err)
		return n == 2
	})
	late := sink(t, all[1], process.Options{}, func(m any) { got <- fmt.Sprint("late ", m) })
	require.NoError(t, all[1].JoinGroup("g", late))
	eventually(t, func() bool {
		n, _ := all[0].Publish(t.Context(), "g", "last")
		return n == 3
	})
	for <-got != "late last" {
	}
}

func TestNamesAreOfTheWholeCluster(t *testing.T) {
	all := three(t, nil)
	ctx := t.Context()
	pid := sink(t, all[1], process.Options{}, func(any) {})
	other := sink(t, all[2], process.Options{}, func(any) {})
	_, err := all[0].Whereis(ctx, "a room / with any name")
	require.Equal(t, process.ErrNoProcess, err)
	require.NoError(t, all[1].Register(ctx, "a room / with any name", pid))
	require.NoError(t, all[1].Register(ctx, "a room / with any name", pid), "the same again")
	require.Equal(t, process.ErrNameTaken, all[2].Register(ctx, "a room / with any name", other))
	require.Equal(t, process.ErrNoProcess, all[2].Register(ctx, "b", pid), "of another node")
	for _, c := range all {
		found, err := c.Whereis(ctx, "a room / with any name")
		require.NoError(t, err)
		require.Equal(t, pid, found)
	}
	require.NoError(t, all[1].System().Kill(pid))
	eventually(t, func() bool { return all[2].Register(ctx, "a room / with any name", other) == nil })
	had, err := all[2].Unregister(ctx, "a room / with any name")
	require.NoError(t, err)
	require.True(t, had)
	_, err = all[0].Whereis(ctx, "a room / with any name")
	require.Equal(t, process.ErrNoProcess, err)
}

func TestJoinReportsAServerThatDoesNotExist(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	_, err := natscluster.Join(ctx, testConfig("nats://127.0.0.1:1"))
	require.Error(t, err)
	_, err = natscluster.Join(ctx, natscluster.Config{Cluster: "a.b"})
	require.ErrorContains(t, err, "Config.Cluster")
}
