package natscluster

import (
	"context"
	"errors"
	"sync"

	"github.com/suiro-go/suiro/process"
)

// maxGroup is the largest length of a group's name in bytes.
const maxGroup = 255

// JoinGroup adds a process of this node to a group of the cluster, as System.JoinGroup does within
// a node. LeaveGroup is that of the System. A name has at most 255 bytes.
func (c *Cluster) JoinGroup(name string, pid process.PID) error {
	if len(name) > maxGroup {
		return errors.New("natscluster: name of the group is too long")
	}
	c.groupsMu.Lock()
	defer c.groupsMu.Unlock()
	if err := c.sys.JoinGroup(name, pid); err != nil {
		return err
	}
	if _, known := c.groups[name]; !known {
		c.groups[name] = struct{}{}
		for _, p := range c.all() {
			_ = p.add(&entry{kind: entryJoined, body: []byte(name)}, true) // a node that is lost needs not to know
		}
	}
	return nil
}

// announce tells a node the groups that have members here.
func (c *Cluster) announce(p *peer) {
	c.groupsMu.Lock()
	defer c.groupsMu.Unlock()
	for name := range c.groups {
		_ = p.add(&entry{kind: entryJoined, body: []byte(name)}, true)
	}
}

// Publish sends a message to the members of a group on all nodes. It encodes the message once, and
// sends it once to each node that has members. n counts the mailboxes of this node and the other
// nodes that have accepted it. The error is the first one: process.ErrMailboxFull if there is no
// room to a node. Publish does not wait. ctx is as for System.Publish.
func (c *Cluster) Publish(ctx context.Context, group string, message any) (n int, err error) {
	n = c.sys.Publish(ctx, group, message)
	var e entry
	var t *messageType
	for _, p := range c.all() {
		p.mu.Lock()
		wants := p.interest[group]
		p.mu.Unlock()
		if !wants {
			continue
		}
		if t == nil {
			var body *[]byte
			e = entry{kind: entryPublish}
			if t, body, err = c.encodeAfter(append([]byte{byte(len(group))}, group...), message, &e); err != nil {
				return n, err
			}
			defer bodies.Put(body)
		}
		if added := p.add(&e, t.delivery == AtLeastOnce); added == nil {
			n++
		} else if err == nil && added != ErrNodeLost {
			err = added
		}
	}
	return n, err
}

// published publishes a message of the node to the members here. With no members, the node need
// not send others.
func (p *peer) published(e *entry) {
	c := p.c
	group, data, ok := splitGroup(e.body)
	t := c.cfg.Types.withHash(e.hash)
	if !ok {
		c.malformed(p.node)
		return
	}
	if t == nil {
		c.unknownType(p.node, e.hash)
		return
	}
	m, ok := c.decode(t, data)
	if !ok {
		return
	}
	if c.sys.Publish(c.ctx, group, m) > 0 {
		return
	}
	c.groupsMu.Lock()
	defer c.groupsMu.Unlock()
	if len(c.sys.Members(group)) == 0 {
		delete(c.groups, group)
		_ = p.add(&entry{kind: entryEmpty, body: []byte(group)}, true)
	}
}

// dropEmptyGroups tells the other nodes of groups that have no members here any longer. It looks at
// some groups.
func (c *Cluster) dropEmptyGroups() {
	c.groupsMu.Lock()
	defer c.groupsMu.Unlock()
	looked := 0
	for name := range c.groups { // in a random order
		if looked++; looked > groupsLooked {
			return
		}
		if len(c.sys.Members(name)) > 0 {
			continue
		}
		delete(c.groups, name)
		for _, p := range c.all() {
			_ = p.add(&entry{kind: entryEmpty, body: []byte(name)}, true)
		}
	}
}

const groupsLooked = 256

// bodies are buffers for encoded messages.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// encode encodes a message as the body of an entry. The caller gives body back to bodies.
func (c *Cluster) encode(message any, e *entry) (t *messageType, body *[]byte, err error) {
	return c.encodeAfter(nil, message, e)
}

func (c *Cluster) encodeAfter(head []byte, message any, e *entry) (t *messageType, body *[]byte, err error) {
	if t = c.cfg.Types.of(message); t == nil {
		return nil, nil, ErrUnknownType
	}
	body = bodies.Get().(*[]byte)
	*body, err = t.encode(c.cfg.Codec, append((*body)[:0], head...), message)
	if err != nil {
		bodies.Put(body)
		return nil, nil, err
	}
	e.hash, e.body = t.hash, *body
	return t, body, nil
}
