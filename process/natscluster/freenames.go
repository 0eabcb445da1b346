package natscluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/suiro-go/suiro/process"
)

// A name is free again when its process has ended, by Unregister, or after a Register that has
// failed. Then its key is to be removed. One goroutine of the node does so, maintainNames. It tries
// again after a failure.

// freeName makes maintainNames remove a name. It does not wait.
func (c *Cluster) freeName(own *ownName) {
	c.names.mu.Lock()
	own.ended = true
	c.names.mu.Unlock()
	c.names.signal()
}

// signal makes maintainNames look for names to remove.
func (n *names) signal() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// removeName removes a name of this node, in a turn.
func (c *Cluster) removeName(ctx context.Context, name string, own *ownName) error {
	n := &c.names
	value, _ := own.pid.MarshalBinary()
	for {
		n.mu.Lock()
		revision, current := own.revision, n.own[name] == own
		n.mu.Unlock()
		if !current {
			return nil
		}
		err := c.purgeName(ctx, name, revision)
		if err == nil {
			break
		}
		e, asked := n.pids.Get(ctx, nameKey(name))
		if errors.Is(asked, jetstream.ErrKeyNotFound) || asked == nil && !bytes.Equal(e.Value(), value) {
			break // another process has the name now, or none
		}
		if asked != nil || e.Revision() == revision {
			return fmt.Errorf("natscluster: name: %w", err)
		}
		n.mu.Lock()
		own.revision = e.Revision()
		n.mu.Unlock()
	}
	c.forgetName(name, own)
	return nil
}

func (c *Cluster) purgeName(ctx context.Context, name string, revision uint64) error {
	return c.names.pids.Purge(ctx, nameKey(name), jetstream.LastRevision(revision), jetstream.PurgeTTL(markerTTL))
}

// removeStray removes a key that no process has, in a turn. The server may read a key before it
// has stored one that was sent earlier. But it stores in order, so that it refuses an update with a
// revision that no key has only after it has stored the stray one.
func (c *Cluster) removeStray(ctx context.Context, name string) error {
	n := &c.names
	if _, err := n.pids.Update(ctx, nameKey(name), nil, noRevision); !isRefused(err) {
		return fmt.Errorf("natscluster: name: %w", err)
	}
	for {
		e, err := n.pids.Get(ctx, nameKey(name))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			break
		}
		if err != nil {
			return fmt.Errorf("natscluster: name: %w", err)
		}
		var pid process.PID
		if pid.UnmarshalBinary(e.Value()) != nil || pid.Node() != c.node || c.owns(name, pid) {
			break
		}
		if err = c.purgeName(ctx, name, e.Revision()); err == nil {
			break
		}
		if !isRefused(err) {
			return fmt.Errorf("natscluster: name: %w", err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.strays, name)
	return nil
}

// noRevision is a revision that no key ever has.
const noRevision = 1 << 48

// isRefused reports whether the server has refused a revision.
func isRefused(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// markerTTL is how long the bucket keeps the marker of a removed name. NATS allows no less.
const markerTTL = time.Second

// forgetName removes a name from the table of this node. It reports whether the process had it.
func (c *Cluster) forgetName(name string, own *ownName) bool {
	n := &c.names
	n.mu.Lock()
	defer n.mu.Unlock()
	had := n.own[name] == own
	if had {
		delete(n.own, name)
	}
	if own.stop != nil {
		go own.stop() // takes the lock of the process
		own.stop = nil
	}
	return had && !own.ended
}

// maintainNames renews the lease, and removes the names of processes that have ended.
func (c *Cluster) maintainNames() {
	defer c.running.Done()
	n := &c.names
	ticks := time.NewTicker(c.cfg.Lease / 3)
	defer ticks.Stop()
	for {
		renew := false
		select {
		case <-c.ctx.Done():
			return
		case <-n.changed:
		case <-ticks.C:
			renew = true
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Lease/3)
		if renew {
			c.renewLease(ctx)
		}
		c.removeEnded(ctx)
		cancel()
	}
}

// removeEnded removes the names of processes that have ended, and strays. It tries again with the
// next renewal if that fails, or when the present turn of the name ends.
func (c *Cluster) removeEnded(ctx context.Context) {
	n := &c.names
	ended := map[string]*ownName{} // nil: a stray alone
	n.mu.Lock()
	for name := range n.strays {
		ended[name] = nil
	}
	for name, own := range n.own {
		if own.ended {
			ended[name] = own
		}
	}
	n.mu.Unlock()
	for name, own := range ended {
		if !n.tryTurn(name) {
			continue
		}
		err := c.removeEndedName(ctx, name, own)
		n.freeTurn(name)
		if err != nil {
			c.cfg.Logger.Warn("natscluster: freeing a name", "name", name, "error", err)
		}
	}
}

func (c *Cluster) removeEndedName(ctx context.Context, name string, own *ownName) error {
	if own != nil {
		if err := c.removeName(ctx, name, own); err != nil {
			return err
		}
	}
	c.names.mu.Lock()
	_, stray := c.names.strays[name]
	c.names.mu.Unlock()
	if !stray {
		return nil
	}
	return c.removeStray(ctx, name)
}

// releaseNames frees all names of the node, whose processes have ended. Without JetStream it gives
// up after Config.Lease: by then the lease has lapsed, which frees them as well.
func (c *Cluster) releaseNames(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Lease)
	defer cancel()
	n := &c.names
	n.opening.Lock()
	defer n.opening.Unlock()
	if !n.opened {
		return
	}
	c.removeEnded(ctx)
	if err := n.leases.Delete(ctx, leaseKey(c.node)); err != nil {
		c.cfg.Logger.Warn("natscluster: giving up the lease", "error", err)
	}
}

// giveUpName makes maintainNames remove a name that may have been stored though Register fails.
func (c *Cluster) giveUpName(name string) {
	n := &c.names
	n.mu.Lock()
	n.strays[name] = struct{}{}
	n.mu.Unlock()
	n.signal()
}
