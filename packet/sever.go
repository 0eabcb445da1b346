package packet

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// sever has the socket receive nothing more, and gives its port back, although its task
// does not run. What the handler still writes is an error.
func (c *Conn) sever() {
	c.mu.Lock()
	gone := c.inbox.gone // the task has closed it, and may change FD
	var was engine.Endpoint
	if !gone {
		was.Token, was.FD = c.end.Token, c.end.FD
		_ = c.group.Inert.Retire(was.FD)
	}
	c.mu.Unlock()
	if gone {
		return
	}
	// Afterwards, as internal/accept/close.go argues. A token that has gone by now names nothing.
	c.group.Expel(&was, reactor.RecvFrom)
}
