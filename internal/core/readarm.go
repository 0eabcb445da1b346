package core

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// arm is the end of a run for the input: it decides what the reactor has in flight for it. That is
// a Recv, a Readable while the task receives itself, or nothing while the handler is to wait.
func (r *reader) arm() {
	c := r.c
	if c.Is(Closing) || c.Reading.Is(ReadClosed|Ended) {
		// input is not for the handler any more, and the reactor drops it until the end
		c.Reading.Become(0)
	} else if r.frugal() {
		c.Reading.Set(TaskReads)
	}
	switch {
	case c.Reading.Is(stopping):
	case c.Reading.Is(receiving):
		if c.Reading.Is(waiting) && c.Reading.Is(Unoffered) || c.Reading.Is(TaskReads) {
			r.stopReceiving()
		}
	case c.Reading.Is(polling):
		if !c.Reading.Is(TaskReads) {
			r.stopReceiving()
		}
	case !c.Reading.Is(Ended | waiting):
		// The chunks of the receive before came with its end or earlier. All of them have been
		// dealt with, because work puts the end back with those it leaves. So none is left of the
		// memory at home, and this receive may go to another reactor.
		c.Home = c.Driver.Via(c.Home)
		r.listen()
		if c.Is(Broken) {
			c.Reading.Clear(receiving | polling)
		}
	}
}

// listen makes the task run when there is something to be read.
func (r *reader) listen() {
	c := r.c
	kind := reactor.Recv
	if c.Reading.Is(TaskReads) {
		kind = reactor.Readable
		c.Reading.Set(polling)
	} else {
		c.Reading.Set(receiving)
	}
	one := c.Group.forGoroutines || c.readers != nil || c.Filter().Shaking()
	c.submit(c.Home, reactor.Op{Kind: kind, FD: c.Endpoint.FD, Token: c.Endpoint.Token, TCP: c.overTCP(), One: one})
	if kind == reactor.Recv && !one && c.Group.Completes && !c.Is(Broken) { // it may begin at an urgent byte
		c.doubt(c.Driver)
	}
}

// stopReceiving cancels what listen has submitted.
func (r *reader) stopReceiving() {
	kind := reactor.Recv
	if r.c.Reading.Is(polling) {
		kind = reactor.Readable
	}
	r.c.Reading.Set(stopping)
	r.c.Driver.Cancel(r.c.Home, &r.c.Endpoint, kind)
}

// submit submits an operation whose refusal ends the connection.
func (c *Conn) submit(to *engine.Driver, op reactor.Op) {
	if err := c.Driver.Submit(to, op); err != nil {
		c.Fail(c.OpError(op.Kind.String(), err))
	}
}
