package packet

import "github.com/suiro-go/suiro/internal/sock"

// Abandon implements engine.Abandoned: the workers have stopped. OnClose is not called. The last
// system call of another goroutine, if there is one, closes the descriptor.
func (t *target) Abandon() {
	c := (*Conn)(t)
	c.mu.Lock()
	in := &c.inbox
	in.closed, in.dead = true, true
	idle := in.syscalls == 0
	c.mu.Unlock()
	for _, f := range c.abandons {
		f()
	}
	if idle {
		c.closeAbandoned()
	}
}

// closeAbandoned closes the descriptor, which nobody uses any more, once.
func (c *Conn) closeAbandoned() {
	c.mu.Lock()
	was := c.inbox.gone
	c.inbox.gone = true
	c.mu.Unlock()
	if was {
		return
	}
	c.group.Table.Remove(&c.end)
	sock.Close(c.end.FD)
}
