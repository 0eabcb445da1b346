package natscluster

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// heartbeat handles a frame to all nodes. A heartbeat has the epochs of the sender and the nodes
// that it has ever lost, so that those begin the same epochs.
func (c *Cluster) heartbeat(m *nats.Msg) {
	h, epochs, ok := c.parse(m.Data, frameHeartbeat, frameLeave)
	if !ok || h.node == c.node {
		return
	}
	if h.kind == frameLeave {
		c.mu.Lock()
		p := c.peers[h.node]
		c.losts[h.node] = lostNode{hasLeft, c.now()} // even if frames of the node are yet to be received
		c.mu.Unlock()
		if p != nil {
			c.lose(p)
		}
		return
	}
	p := c.heard(h.node)
	if p == nil {
		return
	}
	for ; len(epochs) >= 16; epochs = epochs[16:] {
		if binary.BigEndian.Uint64(epochs) != c.node {
			continue
		}
		if epoch := binary.BigEndian.Uint64(epochs[8:]); epoch <= maxEpoch {
			p.reset(epoch)
		} else {
			c.malformed(h.node)
		}
	}
}

// heard is the peer of a node that has just sent something; nil: this node has left.
func (c *Cluster) heard(node uint64) *peer {
	if node == c.node {
		return nil
	}
	c.mu.RLock()
	p := c.peers[node]
	known := p != nil && p.heard
	c.mu.RUnlock()
	if !known {
		var found bool
		if p, found = c.find(node, true); found {
			c.sendHeartbeat() // it learns of this node
		}
	}
	if p != nil {
		p.seen.Store(int64(c.now()))
	}
	return p
}

// find is the peer of a node, which may be a new one. A node that is lost has one again only if it
// was heard. A node that was never heard has one for Config.Lost: its PIDs may arrive before its
// first heartbeat. nil: there is none. found: it was heard for the first time.
func (c *Cluster) find(node uint64, heard bool) (p *peer, found bool) {
	if node == 0 { // of a system without a cluster
		return nil, false
	}
	c.mu.RLock()
	p = c.peers[node]
	known := p != nil && (p.heard || !heard)
	c.mu.RUnlock()
	if known {
		return p, false
	}
	c.mu.Lock()
	before := c.peers[node]
	if p = before; p == nil {
		p = c.newPeer(node, heard)
	}
	found = p != nil && heard && !p.heard
	if found {
		p.heard = true
	}
	c.mu.Unlock()
	if p != nil && before == nil {
		go p.run()
		c.announce(p)
	}
	if found {
		c.nodeChanged(node, true)
	}
	return p, found
}

// newPeer adds a peer, and counts its run as running. The lock is held. nil: the node has none.
func (c *Cluster) newPeer(node uint64, heard bool) *peer {
	lost, known := c.losts[node]
	if c.left || known && !heard || lost.next == hasLeft {
		return nil
	}
	p := newPeer(c, node, max(lost.next, c.floor))
	c.peers[node] = p
	delete(c.losts, node)
	c.running.Add(1)
	return p
}

// A lostNode is a node that is lost, or that has left.
type lostNode struct {
	next uint64        // the epoch that begins when it comes back
	at   time.Duration // when it was lost
}

// forgetLost forgets the nodes that were lost long ago. All others begin later epochs than theirs
// from then on: one of them may come back with frames of its last epoch.
func (c *Cluster) forgetLost(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for node, lost := range c.losts {
		if now-lost.at < lostKept {
			continue
		}
		if lost.next != hasLeft {
			c.floor = max(c.floor, lost.next)
		}
		delete(c.losts, node)
	}
}

const lostKept = time.Hour

// hasLeft is the epoch of a node that never comes back.
const hasLeft = math.MaxUint64

// lose makes a node a lost one.
func (c *Cluster) lose(p *peer) {
	c.mu.Lock()
	if c.peers[p.node] != p {
		c.mu.Unlock()
		return
	}
	delete(c.peers, p.node)
	p.mu.Lock()
	next := p.epoch + 1
	lost := p.begins(next, true)
	p.mu.Unlock()
	c.losts[p.node] = lostNode{max(next, c.losts[p.node].next), c.now()} // a peer of the node that is made from now on begins it
	heard := p.heard
	c.mu.Unlock()
	p.lost(lost)
	if heard {
		c.nodeChanged(p.node, false)
	}
}

// all is a list of all peers.
func (c *Cluster) all() []*peer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Values(c.peers))
}

// beat sends heartbeats, and looks after the peers.
func (c *Cluster) beat() {
	defer c.running.Done()
	c.sendHeartbeat()
	every := c.cfg.Lost / beatsInLost
	ticks := time.NewTicker(min(every, tickEvery))
	defer ticks.Stop()
	for last := c.now(); ; {
		select {
		case <-c.ctx.Done():
			return
		case <-ticks.C:
		}
		now := c.now()
		if now-last >= every {
			last = now
			c.sendHeartbeat()
			c.forgetLost(now)
			c.dropEmptyGroups()
		}
		for _, p := range c.all() {
			if now-time.Duration(p.seen.Load()) > c.cfg.Lost {
				c.lose(p)
			} else {
				p.tick()
			}
		}
	}
}

const (
	beatsInLost = 3
	tickEvery   = 50 * time.Millisecond
)

func (c *Cluster) sendHeartbeat() {
	b := make([]byte, frameHeader)
	(&header{kind: frameHeartbeat, node: c.node}).put(b)
	for _, p := range c.all() {
		p.mu.Lock()
		epoch := p.epoch
		p.mu.Unlock()
		if epoch > 1 {
			b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, p.node), epoch)
		}
	}
	c.mu.RLock()
	left := c.left
	c.mu.RUnlock()
	if !left && c.nc.IsConnected() {
		c.publish(c.prefix+"all", b)
	}
}
