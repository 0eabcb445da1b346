//go:build unix

package natscluster_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
)

// hostOf is a node with the server, for nodes that are processes of the system.
func hostOf(t *testing.T) *natscluster.Cluster {
	cfg := testConfig("")
	cfg.Types, cfg.Lost = childTypes(), childLost
	return join(t, cfg)
}

func TestNodesThatAreKilledOrStopped(t *testing.T) {
	const each = 20_000
	host := hostOf(t)
	a, b, c := startNode(t, host, "a"), startNode(t, host, "b"), startNode(t, host, "c")
	for _, n := range []*nodeProcess{a, b, c} {
		eventually(t, func() bool { return len(host.Nodes()) == 3 && statusOf(t, host, n).Sent == 0 })
	}
	send := func(from, to *nodeProcess, n int) {
		require.NoError(t, host.System().TrySend(from.pid, task{To: to.pid, N: n}))
	}
	received := func(n *nodeProcess) int { return statusOf(t, host, n).Received }

	// b and c send to each other, and both to a, which is killed in the middle.
	send(b, c, each)
	send(c, b, each)
	send(b, a, each)
	send(c, a, each)
	eventually(t, func() bool { return received(a) > each/10 })
	reasons := watch(t, host, a.pid)
	require.Positive(t, received(a), "the monitor is set") // its frames arrive in order
	began := time.Now()
	a.kill()
	require.Equal(t, natscluster.ErrNodeLost, <-reasons)
	t.Logf("told %v after the kill; Lost is %v", time.Since(began).Round(time.Millisecond), childLost)

	// c stops for a shorter time than Lost. Nothing is lost.
	require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()
	time.Sleep(500 * time.Millisecond) // how long it is stopped
	require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	if time.Since(stopped) > childLost/2 {
		t.Skip("the machine stood still for about as long as Lost")
	}
	for _, n := range []*nodeProcess{b, c} {
		eventually(t, func() bool { return received(n) >= each })
		s := statusOf(t, host, n)
		require.Empty(t, s.Faults)
		require.Equal(t, each, s.Received)
	}

	// c stops until it is lost. It comes back with the same processes.
	reasons = watch(t, host, c.pid)
	require.Positive(t, received(c), "the monitor is set")
	require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	require.Equal(t, natscluster.ErrNodeLost, <-reasons)
	require.Equal(t, natscluster.ErrNodeLost, host.System().TrySend(c.pid, plain{}))
	require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	eventually(t, func() bool { return host.System().TrySend(c.pid, plain{}) == nil })
	eventually(t, func() bool {
		s, err := process.Call[bool, status](t.Context(), host.System(), c.pid, true)
		return err == nil && s.Received == each
	})
}

// Two nodes send to each other. The network drops all that one of them sends and receives, until
// both are lost to each other. Each message was received once, or was reported to its sender. Later
// messages are all received.
func TestNodesThatAreParted(t *testing.T) {
	host := hostOf(t)
	proxy := newProxy(t, strings.TrimPrefix(host.URL(), "nats://"))
	both := []*nodeProcess{startNode(t, host, "a"), startNodeAt(t, host, "b", proxy.url())}
	send := func(first int) {
		for i, n := range both {
			require.NoError(t, host.System().Send(t.Context(), n.pid, task{both[1-i].pid, first, eachShaky, true}))
		}
	}
	until := func(n *nodeProcess, done func(s status) bool) (s status) {
		eventually(t, func() bool {
			var err error
			s, err = process.Call[bool, status](t.Context(), host.System(), n.pid, true)
			return err == nil && done(s) // b may be lost
		})
		return s
	}
	begin := time.Now()
	send(0)
	for _, n := range both {
		until(n, func(s status) bool { return s.Received > eachShaky/10 })
	}
	reasons, before := watch(t, host, both[1].pid), 0
	for _, n := range both { // the monitor is set by the second answer
		before += until(n, func(status) bool { return true }).Received
	}
	t.Logf("%.0f messages a second before the partition", float64(before)/time.Since(begin).Seconds())
	proxy.partition()
	require.Equal(t, natscluster.ErrNodeLost, <-reasons)
	until(both[0], func(s status) bool { return s.Sent > 0 }) // it has lost b, or has sent everything
	proxy.heal()
	require.NoError(t, host.System().Send(t.Context(), both[0].pid, meet{both[1].pid}))
	until(both[0], func(s status) bool { return s.Met == 1 })
	var sent [2]int
	for i, n := range both {
		sent[i] = until(n, func(s status) bool { return s.Sent > 0 }).Sent
	}

	send(eachShaky)
	var last [2]status
	for i, n := range both {
		last[i] = until(n, func(s status) bool { return s.Later == eachShaky && s.Sent == sent[i]+eachShaky })
	}
	for i, to := range last {
		from := last[1-i]
		require.Empty(t, to.Faults)
		require.LessOrEqual(t, to.Received, from.Sent)
		require.GreaterOrEqual(t, to.Received+from.Dropped, from.Sent)
		t.Logf("%d were sent, %d received, %d reported", from.Sent, to.Received, from.Dropped)
	}
}

// SUIRO_KILLS is the number of kills.
func TestKillsLeaveNothingBehind(t *testing.T) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("SUIRO_KILLS")); err == nil {
		kills = n
	}
	host := hostOf(t)
	pid := sink(t, host, process.Options{Mailbox: -1}, func(any) {})
	round := func(i int) {
		n := startNode(t, host, fmt.Sprint("node ", i))
		eventually(t, func() bool {
			_, err := process.Call[bool, status](t.Context(), host.System(), n.pid, true)
			return err == nil
		})
		reasons := watch(t, host, n.pid)
		require.NoError(t, host.System().TrySend(n.pid, task{To: pid, N: 1 << 30}))
		for j := range 1000 {
			require.NoError(t, host.System().Send(t.Context(), n.pid, sure{pid, j}))
		}
		eventually(t, func() bool { // the group of the dead nodes does not count
			n, err := host.Publish(t.Context(), "workers", "hello")
			return n >= 1 && err == nil
		})
		n.kill()
		require.ErrorIs(t, <-reasons, process.ErrNoProcess)
		eventually(t, func() bool { return len(host.Nodes()) == 0 })
	}
	round(0)
	round(1)
	goroutines, files, memory := usage(t)
	for i := range kills {
		round(2 + i)
	}
	const vary = 3 // those of the server
	var more [3]int
	eventually(t, func() bool {
		more[0], more[1], more[2] = usage(t)
		return more[0] <= goroutines+vary && more[1] <= files+vary && more[2] < memory+8<<20
	})
	t.Logf("%d kills: goroutines %d, then %d; descriptors %d, then %d; heap %d KiB, then %d", kills, goroutines, more[0], files, more[1], memory>>10, more[2]>>10)
}

// usage counts goroutines, descriptors and bytes of the heap.
func usage(t *testing.T) (goroutines, files, memory int) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	dir, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	return runtime.NumGoroutine(), len(dir), int(m.HeapAlloc)
}
