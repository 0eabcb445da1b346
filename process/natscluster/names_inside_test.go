package natscluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// named joins a node whose maintainNames renews no lease during the test, with a process.
func named(t *testing.T, lost func(string)) (*Cluster, process.PID) {
	t.Helper()
	c := alone(t, func(cfg *Config) {
		cfg.Lease = time.Hour
		cfg.NameLost = func(name string, _ process.PID) { lost(name) }
	})
	ref, err := process.Go(c.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		_, err := self.Receive(cx)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, c.openNames(t.Context()))
	return c, ref.PID()
}

func encoded(t *testing.T, pid process.PID) []byte {
	b, err := pid.MarshalBinary()
	require.NoError(t, err)
	return b
}

func TestANameWhoseAnswerWasLostCanBeFreed(t *testing.T) {
	c, pid := named(t, nil)
	ctx := t.Context()
	_, err := c.names.pids.Create(ctx, nameKey("a"), encoded(t, pid)) // by a Register that has failed
	require.NoError(t, err)
	require.NoError(t, c.Register(ctx, "a", pid))
	had, err := c.Unregister(ctx, "a")
	require.NoError(t, err)
	require.True(t, had)
	_, err = c.Whereis(ctx, "a")
	require.Equal(t, process.ErrNoProcess, err)

	_, err = c.names.pids.Create(ctx, nameKey("b"), encoded(t, pid))
	require.NoError(t, err)
	c.giveUpName("b", pid)
	require.Eventually(t, func() bool {
		_, err := c.Whereis(ctx, "b")
		return err == process.ErrNoProcess
	}, patience.Limit, time.Millisecond)
	require.NoError(t, c.Register(ctx, "b", pid))
	c.giveUpName("b", pid)
	require.True(t, c.owns("b", pid), "it has the name")

	had, err = c.Unregister(ctx, "b")
	require.NoError(t, err)
	require.True(t, had)
	require.Eventually(t, func() bool {
		s, err := c.names.pids.Status(ctx)
		return err == nil && s.Values() == 0
	}, patience.Limit, 10*time.Millisecond, "markers vanish, too")
}

func TestALapsedLeaseIsRememberedUntilAllNamesAreConfirmed(t *testing.T) {
	var lost []string
	c, pid := named(t, func(name string) { lost = append(lost, name) })
	n, ctx := &c.names, t.Context()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, c.Register(ctx, name, pid))
	}
	before, err := n.pids.Get(ctx, nameKey("a"))
	require.NoError(t, err)
	_, err = n.pids.Put(ctx, nameKey("b"), encoded(t, pidOf(7))) // another node takes it
	require.NoError(t, err)
	_, err = n.pids.Put(ctx, nameKey("c"), encoded(t, pid)) // an Update whose answer was lost
	require.NoError(t, err)

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.False(t, c.confirmNames(canceled), "requests fail")
	require.Empty(t, lost)

	require.NoError(t, n.leases.Purge(ctx, leaseKey(c.node)))
	_, err = n.leases.Create(ctx, leaseKey(c.node), nil) // by renewLease, whose answer was lost
	require.NoError(t, err)
	n.lapsed, n.lease = true, 0
	c.renewLease(ctx)
	require.False(t, n.lapsed)
	require.Equal(t, []string{"b"}, lost)
	require.False(t, c.owns("b", pid))
	_, err = n.pids.Update(ctx, nameKey("a"), encoded(t, pidOf(7)), before.Revision())
	require.Error(t, err, "a node that had seen no lease comes too late")
	for _, name := range []string{"a", "c"} {
		had, err := c.Unregister(ctx, name)
		require.NoError(t, err)
		require.True(t, had)
		_, err = c.Whereis(ctx, name)
		require.Equal(t, process.ErrNoProcess, err)
	}

	require.NoError(t, c.Register(ctx, "d", pid))
	_, err = n.pids.Put(ctx, nameKey("d"), encoded(t, pidOf(7)))
	require.NoError(t, err)
	require.NoError(t, n.leases.Purge(ctx, leaseKey(c.node)))
	c.renewLease(ctx)
	require.Equal(t, []string{"b", "d"}, lost)
}

func TestTheLeaseOfACallThatWasGivenUpIsTaken(t *testing.T) {
	near, _ := named(t, nil)
	far := alone(t, func(cfg *Config) { cfg.URL, cfg.Lease = near.URL(), time.Hour })
	revision, err := near.names.leases.Create(t.Context(), leaseKey(far.node), nil)
	require.NoError(t, err)
	_, err = far.Whereis(t.Context(), "a")
	require.Equal(t, process.ErrNoProcess, err)
	require.Equal(t, revision, far.names.lease)
}

func TestARegisterThatWasGivenUpFreesTheName(t *testing.T) {
	c, pid := named(t, nil)
	r, err := c.register(t.Context(), "a", pid)
	require.NoError(t, err)
	again, err := c.register(t.Context(), "a", pid)
	require.NoError(t, err)
	again.Release()
	_, err = c.Whereis(t.Context(), "a")
	require.NoError(t, err, "it had the name before")
	r.Release()
	require.Eventually(t, func() bool {
		_, err := c.Whereis(t.Context(), "a")
		return err == process.ErrNoProcess
	}, patience.Limit, time.Millisecond)
}
