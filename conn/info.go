package conn

import (
	"iter"
	"net"
)

// An Info describes a connection to an operator.
type Info struct {
	Handle   Handle
	Remote   net.Addr
	Received uint64 // bytes
	Sent     uint64 // bytes that the kernel has taken
	Unsent   int    // bytes written that it has not taken
	Spliced  Handle // the connection it is spliced with, or the zero Handle
}

// Connections lists the connections there are: each that is there throughout, and
// some of those that come or go meanwhile. It costs a lock and an allocation for each,
// and holds nobody up.
func (g *Group) Connections() iter.Seq[Info] {
	return func(yield func(Info) bool) {
		for e := range g.core.Table.All() {
			if c := connOf(e); c != nil && !yield(c.info()) {
				return
			}
		}
	}
}

func (c *Conn) info() Info {
	i := Info{Handle: c.Handle(), Remote: c.remote()}
	c.mu.Lock()
	defer c.mu.Unlock()
	in := &c.inbox
	i.Received, i.Sent = in.received+c.passedIn(), c.taken()
	i.Unsent = in.waits()
	if in.mail != nil {
		i.Unsent += in.files
	}
	if c.extras != nil && c.extras.relay != nil {
		i.Spliced = c.extras.relay.there().conn.Handle()
	}
	return i
}
