package natscluster

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/suiro-go/suiro/process"
)

// names are the names that processes of this node have in the cluster. All nodes share two
// key-value buckets of JetStream. One has the PID of each name. The other one has a lease of each
// node with names: a key that vanishes unless the node renews it. A name whose node has no lease is
// free.
//
// On this node the calls that change the key of a name take turns. So a call that registers a name
// and one that frees it do not mistake the key of the other for their own.
type names struct {
	opening sync.Mutex // held while the buckets are opened
	opened  bool
	pids    jetstream.KeyValue
	leases  jetstream.KeyValue
	lease   uint64        // revision of this node's lease; of opening, then of maintainNames
	lapsed  bool          // other nodes may have taken names; of maintainNames
	changed chan struct{} // a process with names has ended

	mu     sync.Mutex
	own    map[string]*ownName
	strays map[string]struct{} // names that a Register which has failed may have stored
	turns  map[string]*turn    // of the names whose keys are being changed
}

type ownName struct {
	pid process.PID

	// The lock of names guards these.
	revision uint64
	claims   int    // calls of Register that have got the name; those that were abandoned do not count
	stop     func() // ends the monitor
	ended    bool   // the key is to be removed
}

// Register gives a process of this node a name in the whole cluster, besides those of
// System.Register. It needs JetStream, and waits for it as sched.Await does. The error is
// process.ErrNameTaken if another process has the name, or process.ErrNoProcess. The name is free
// again soon after the process has ended, and Config.Lease after its node is lost. With an error,
// it is freed if it was stored.
func (c *Cluster) Register(ctx context.Context, name string, pid process.PID) error {
	_, err := wait(ctx, c, func(ctx context.Context) (registered, error) { return c.register(ctx, name, pid) })
	return err
}

// A registered is a name that a process has. It is one claim of the name.
type registered struct {
	c   *Cluster
	own *ownName
}

// Release implements sched.Releaser: the caller no longer waits, and has got an error. The name is
// free unless another call has got it for the same process.
func (r registered) Release() {
	n := &r.c.names
	n.mu.Lock()
	r.own.claims--
	if r.own.claims == 0 {
		r.own.ended = true
	}
	ended := r.own.ended
	n.mu.Unlock()
	if ended {
		n.signal()
	}
}

func (c *Cluster) register(ctx context.Context, name string, pid process.PID) (none registered, err error) {
	if err := c.openNames(ctx); err != nil {
		return none, err
	}
	n := &c.names
	if err := n.takeTurn(ctx, name); err != nil {
		return none, err
	}
	defer n.endTurn(name)
	if pid.Node() != c.node || c.sys.Status(pid) == process.Complete {
		return none, process.ErrNoProcess
	}
	value, _ := pid.MarshalBinary()
	var revision uint64
	for {
		var err error
		if revision, err = n.pids.Create(ctx, nameKey(name), value); err == nil {
			break
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			c.giveUpName(name)
			return none, fmt.Errorf("natscluster: name: %w", err)
		}
		e, err := n.pids.Get(ctx, nameKey(name))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			c.giveUpName(name)
			return none, fmt.Errorf("natscluster: name: %w", err)
		}
		if !bytes.Equal(e.Value(), value) {
			switch holds, err := c.holds(ctx, e); {
			case err != nil:
				return none, err
			case holds:
				return none, process.ErrNameTaken
			}
		} else if own := c.claim(name, pid); own != nil {
			return registered{c, own}, nil
		} // else the answer to an earlier Create was lost
		if revision, err = n.pids.Update(ctx, nameKey(name), value, e.Revision()); err == nil {
			break
		} // another node was faster, or the connection fails, which Create will say
	}
	own := &ownName{pid: pid, revision: revision, claims: 1}
	n.mu.Lock()
	if old := n.own[name]; old != nil && old.stop != nil {
		go old.stop() // takes the lock of the process
	}
	n.own[name] = own
	n.mu.Unlock()
	stop, ok := c.sys.OnEnd(pid, func(error) { c.freeName(own) })
	if !ok {
		c.freeName(own)
		return none, process.ErrNoProcess
	}
	n.mu.Lock()
	own.stop = stop
	n.mu.Unlock()
	return registered{c, own}, nil
}

// claim is a name that the process has, as far as this node knows. It counts the call. nil: it does
// not have the name.
func (c *Cluster) claim(name string, pid process.PID) *ownName {
	c.names.mu.Lock()
	defer c.names.mu.Unlock()
	own := c.names.own[name]
	if own == nil || own.pid != pid || own.ended {
		return nil
	}
	own.claims++
	return own
}

// owns reports whether a process of this node has the name, as far as this node knows.
func (c *Cluster) owns(name string, pid process.PID) bool {
	c.names.mu.Lock()
	defer c.names.mu.Unlock()
	own := c.names.own[name]
	return own != nil && own.pid == pid && !own.ended
}

// Unregister frees a name that a process of this node has. It reports whether one had it. It waits
// as Register does. If there is an error, the node goes on trying.
func (c *Cluster) Unregister(ctx context.Context, name string) (bool, error) {
	n := &c.names
	n.mu.Lock()
	own := n.own[name]
	if own == nil || own.ended {
		n.mu.Unlock()
		return false, nil
	}
	own.ended = true // maintainNames tries again if this fails
	n.mu.Unlock()
	_, err := wait(ctx, c, func(ctx context.Context) (struct{}, error) {
		if err := n.takeTurn(ctx, name); err != nil {
			return struct{}{}, err
		}
		defer n.endTurn(name)
		return struct{}{}, c.removeName(ctx, name, own)
	})
	return true, err
}

// Whereis is the process of the cluster that has the name. It asks JetStream, and waits as Register
// does. The error is process.ErrNoProcess if none has.
func (c *Cluster) Whereis(ctx context.Context, name string) (process.PID, error) {
	return wait(ctx, c, func(ctx context.Context) (process.PID, error) { return c.whereis(ctx, name) })
}

func (c *Cluster) whereis(ctx context.Context, name string) (process.PID, error) {
	if err := c.openNames(ctx); err != nil {
		return process.PID{}, err
	}
	e, err := c.names.pids.Get(ctx, nameKey(name))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return process.PID{}, process.ErrNoProcess
	}
	if err != nil {
		return process.PID{}, fmt.Errorf("natscluster: name: %w", err)
	}
	var pid process.PID
	if err := pid.UnmarshalBinary(e.Value()); err != nil {
		return pid, err
	}
	switch holds, err := c.holds(ctx, e); {
	case err != nil:
		return process.PID{}, err
	case !holds:
		return process.PID{}, process.ErrNoProcess
	}
	return pid, nil
}

// holds reports whether the process of an entry still has the name: its node has a lease, and this
// node does not know that it has ended.
func (c *Cluster) holds(ctx context.Context, e jetstream.KeyValueEntry) (bool, error) {
	var pid process.PID
	if err := pid.UnmarshalBinary(e.Value()); err != nil {
		return false, err
	}
	if pid.Node() == c.node {
		return c.sys.Status(pid) != process.Complete, nil
	}
	_, err := c.names.leases.Get(ctx, leaseKey(pid.Node()))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// openNames opens the buckets, and takes a lease.
func (c *Cluster) openNames(ctx context.Context) error {
	n := &c.names
	n.opening.Lock()
	defer n.opening.Unlock()
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	if n.opened {
		return nil
	}
	js, err := jetstream.New(c.nc)
	if err != nil {
		return err
	}
	prefix := "suiro-" + c.cfg.Cluster
	if n.pids, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: prefix + "-names", LimitMarkerTTL: markerTTL}); err != nil {
		return fmt.Errorf("natscluster: opening the bucket of names: %w", err)
	}
	if n.leases, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: prefix + "-leases", TTL: c.cfg.Lease}); err != nil {
		return fmt.Errorf("natscluster: opening the bucket of leases: %w", err)
	}
	n.lease, err = n.leases.Create(ctx, leaseKey(c.node), nil)
	if errors.Is(err, jetstream.ErrKeyExists) { // of an earlier call that has ended before the answer came
		var e jetstream.KeyValueEntry
		if e, err = n.leases.Get(ctx, leaseKey(c.node)); err == nil {
			n.lease = e.Revision()
		}
	}
	if err != nil {
		return fmt.Errorf("natscluster: lease: %w", err)
	}
	n.own, n.strays, n.turns = make(map[string]*ownName), make(map[string]struct{}), make(map[string]*turn)
	n.changed, n.opened = make(chan struct{}, 1), true
	c.running.Add(1) // Shutdown waits for opening before it waits for running
	go c.maintainNames()
	return nil
}

func nameKey(name string) string { return "n" + hex.EncodeToString([]byte(name)) }

func leaseKey(node uint64) string { return fmt.Sprintf("%016x", node) }
