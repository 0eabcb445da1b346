package packet

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// sever makes the socket receive nothing more, and frees its port, although its task does not run.
// Later writes of the handler fail.
func (c *Conn) sever() {
	c.mu.Lock()
	gone := c.inbox.gone // the task has closed the descriptor, and may change FD
	var was engine.Endpoint
	if !gone {
		was.Token, was.FD = c.end.Token, c.end.FD
		_ = c.group.Inert.Retire(was.FD)
		c.inbox.severed = true
	}
	c.mu.Unlock()
	if gone {
		return
	}
	// Expel is called after Retire, for the reason in internal/accept/close.go. If the socket has
	// ended by now, its token refers to no socket.
	c.group.Expel(&was, reactor.RecvFrom)
}

// severed reports whether sever was called. The errors of receives may then be of the inert socket.
func (c *Conn) severed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inbox.severed
}
