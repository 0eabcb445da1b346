package packet

import (
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// sever has the socket receive nothing more, and gives its port back, although its task
// does not run. What the handler still writes is an error.
func (c *Conn) sever() {
	c.group.Expel(&c.end, reactor.RecvFrom)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.inbox.gone { // else the task has closed it
		_ = sock.Retire(c.end.FD)
	}
}
