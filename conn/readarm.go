package conn

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// listen makes the task run when there is something to be read.
func (c *Conn) listen() {
	kind := reactor.Recv
	if c.reading.is(direct) {
		kind = reactor.Readable
		c.reading.set(polling)
	} else {
		c.reading.set(receiving)
	}
	c.submit(c.home, reactor.Op{Kind: kind, FD: c.end.FD, Token: c.end.Token, TCP: c.overTCP(), One: c.group.forGoroutines || c.consumer().sips()})
}

// stopReceiving cancels what listen has submitted.
func (c *Conn) stopReceiving() {
	kind := reactor.Recv
	if c.reading.is(polling) {
		kind = reactor.Readable
	}
	c.reading.set(stopping)
	c.driver.Cancel(c.home, &c.end, kind)
}

// submit submits an operation whose refusal ends the connection.
func (c *Conn) submit(to *engine.Driver, op reactor.Op) {
	if err := c.driver.Submit(to, op); err != nil {
		c.fail(c.opError(op.Kind.String(), err))
	}
}
