package natscluster

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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
	c.giveUpName("b")
	require.Eventually(t, func() bool {
		_, err := c.Whereis(ctx, "b")
		return err == process.ErrNoProcess
	}, patience.Limit, time.Millisecond)
	require.NoError(t, c.Register(ctx, "b", pid))
	c.giveUpName("b")
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

// A racing is a bucket in which a call ends, on the server or here, at the moment of a test.
type racing struct {
	jetstream.KeyValue
	updated func() // is called once after an Update

	mu   sync.Mutex
	late []byte // a Create that has failed and that the server is yet to store
}

func (r *racing) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late == nil {
		return r.KeyValue.Create(ctx, key, value)
	}
	r.late = value
	return 0, context.Canceled
}

// store makes the server store the Create that is late.
func (r *racing) store(ctx context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	late := r.late
	if r.late = nil; len(late) == 0 {
		return nil
	}
	_, err := r.KeyValue.Create(ctx, key, late)
	return err
}

// Update is stored after the Create that is late, because the server stores in order.
func (r *racing) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := r.store(ctx, key); err != nil {
		return 0, err
	}
	next, err := r.KeyValue.Update(ctx, key, value, revision)
	if updated := r.updated; updated != nil && err == nil {
		r.updated = nil
		updated()
	}
	return next, err
}

// Two calls register one name for one process, and one of them is given up. The other one keeps the
// name.
func TestARegisterThatWasGivenUpKeepsTheNameOfAnother(t *testing.T) {
	c, pid := named(t, nil)
	ctx := t.Context()
	first, err := c.register(ctx, "a", pid)
	require.NoError(t, err)
	second, err := c.register(ctx, "a", pid)
	require.NoError(t, err)
	first.Release()
	require.True(t, c.owns("a", pid))
	c.removeEnded(ctx)
	found, err := c.Whereis(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, pid, found)
	second.Release()
	eventuallyFree(t, c, "a")
}

// A call that fails has stored the key, and another one of the process is about to have the name.
func TestARegisterThatFailsWhileAnotherStoresTheName(t *testing.T) {
	c, pid := named(t, nil)
	ctx := t.Context()
	_, err := c.names.pids.Create(ctx, nameKey("a"), encoded(t, pid)) // of a call whose answer is lost
	require.NoError(t, err)
	c.names.pids = &racing{KeyValue: c.names.pids, updated: func() {
		c.giveUpName("a") // that call ends
		c.removeEnded(ctx)
	}}
	require.NoError(t, c.Register(ctx, "a", pid))
	c.removeEnded(ctx)
	require.True(t, c.owns("a", pid))
	found, err := c.Whereis(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, pid, found)
}

// A call that fails leaves no key, also if another process of the node had the name until then.
func TestARegisterThatFailsWhileAnotherNameIsFreed(t *testing.T) {
	c, pid := named(t, nil)
	ctx := t.Context()
	_, err := c.names.pids.Create(ctx, nameKey("a"), encoded(t, pid)) // of a call whose answer is lost
	require.NoError(t, err)
	n := &c.names
	n.mu.Lock()
	n.own["a"] = &ownName{pid: process.PID{}, revision: 1000, ended: true} // its key is removed, and the answer is lost
	n.mu.Unlock()
	c.giveUpName("a")
	eventuallyFree(t, c, "a")
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.own)+len(n.strays)+len(n.turns) == 0
	}, patience.Limit, time.Millisecond)
}

// The server stores the key of a call that has failed after it has read keys for later calls.
func TestARegisterThatFailsIsStoredLate(t *testing.T) {
	c, pid := named(t, nil)
	ctx := t.Context()
	n := &c.names
	r := &racing{KeyValue: n.pids, late: []byte{}}
	n.pids = r
	_, err := c.register(ctx, "a", pid)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.strays) == 0
	}, patience.Limit, time.Millisecond)
	require.NoError(t, r.store(ctx, nameKey("a")))
	eventuallyFree(t, c, "a")
}

// A call waits for its turn, and gives up its wait.
func TestTurnsOfAName(t *testing.T) {
	c, pid := named(t, nil)
	n := &c.names
	require.True(t, n.tryTurn("a"))
	require.False(t, n.tryTurn("a"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- c.Register(ctx, "a", pid) }()
	go func() { ended <- c.Register(t.Context(), "a", pid) }()
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.turns["a"].users == 3
	}, patience.Limit, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	n.endTurn("a")
	require.NoError(t, <-ended)
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.turns) == 0
	}, patience.Limit, time.Millisecond)
}

func eventuallyFree(t *testing.T, c *Cluster, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := c.Whereis(t.Context(), name)
		return err == process.ErrNoProcess
	}, patience.Limit, time.Millisecond)
}
