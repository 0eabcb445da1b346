package natscluster

import (
	"bytes"
	"context"
	"errors"
	"maps"

	"github.com/nats-io/nats.go/jetstream"
)

// renewLease renews the lease. If it has lapsed, other nodes may have taken names.
func (c *Cluster) renewLease(ctx context.Context) {
	n := &c.names
	revision, err := n.leases.Update(ctx, leaseKey(c.node), nil, n.lease)
	if err != nil {
		e, asked := n.leases.Get(ctx, leaseKey(c.node))
		switch {
		case asked == nil: // an answer was lost
			revision = e.Revision()
		case !errors.Is(asked, jetstream.ErrKeyNotFound):
			c.cfg.Logger.Warn("natscluster: renewing the lease", "error", err)
			return
		default:
			n.lapsed = true
			if revision, err = n.leases.Create(ctx, leaseKey(c.node), nil); err != nil {
				c.cfg.Logger.Warn("natscluster: taking a new lease", "error", err)
				return
			}
		}
	}
	n.lease = revision
	if n.lapsed {
		n.lapsed = !c.confirmNames(ctx)
	}
}

// confirmNames stores all names of this node again, after its lease has lapsed. So a node that has
// seen no lease cannot take a name later by its old revision. false: it has to be called again.
func (c *Cluster) confirmNames(ctx context.Context) bool {
	for name, own := range c.ownNames() {
		kept, err := c.confirmName(ctx, name, own)
		if err != nil {
			c.cfg.Logger.Warn("natscluster: storing a name again", "name", name, "error", err)
			return false
		}
		if !kept && c.forgetName(name, own) && c.cfg.NameLost != nil {
			c.tryApart("NameLost", func() { c.cfg.NameLost(name, own.pid) })
		}
	}
	return true
}

// confirmName stores a name again. false: this node no longer has it.
func (c *Cluster) confirmName(ctx context.Context, name string, own *ownName) (kept bool, err error) {
	n := &c.names
	value, _ := own.pid.MarshalBinary()
	n.mu.Lock()
	revision, ended := own.revision, own.ended
	n.mu.Unlock()
	if ended {
		return true, nil // removeEnded is about it
	}
	for {
		next, err := n.pids.Update(ctx, nameKey(name), value, revision)
		if err == nil {
			n.mu.Lock()
			own.revision = next
			n.mu.Unlock()
			return true, nil
		}
		e, asked := n.pids.Get(ctx, nameKey(name))
		switch {
		case errors.Is(asked, jetstream.ErrKeyNotFound):
			return false, nil
		case asked != nil || e.Revision() == revision:
			return false, err
		case !bytes.Equal(e.Value(), value):
			return false, nil
		}
		revision = e.Revision() // an answer was lost
	}
}

// ownNames is a copy of the table of this node.
func (c *Cluster) ownNames() map[string]*ownName {
	c.names.mu.Lock()
	defer c.names.mu.Unlock()
	return maps.Clone(c.names.own)
}
