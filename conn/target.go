package conn

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// What reactors and the group tell, each a type of its own so that its methods are none of
// what users hold.
type (
	connTarget     Conn
	listenerTarget Listener
)

var (
	_ engine.Target  = (*connTarget)(nil)
	_ engine.Ordered = (*connTarget)(nil)
	_ engine.Target  = (*listenerTarget)(nil)
)

// Deliver implements engine.Target.
func (t *connTarget) Deliver(by *engine.Driver, e *reactor.Completion) {
	(*Conn)(t).deliver(driverOf(by), e)
}

// Deliver implements engine.Target.
func (t *listenerTarget) Deliver(by *engine.Driver, e *reactor.Completion) {
	(*Listener)(t).deliver(driverOf(by), e)
}

// Obey implements engine.Ordered.
func (t *connTarget) Obey(o engine.Order) {
	kind := cmdAbort
	switch o {
	case engine.Sever:
		return
	case engine.Drain:
		kind = cmdDrain
	case engine.Stage:
		kind = cmdStage
	}
	_ = (*Conn)(t).tell(command{kind: kind}) // one that has ended needs no telling
}

// connOf is the connection that a token names; nil: it names something else.
func connOf(e *engine.Endpoint) *Conn {
	t, _ := e.Target.(*connTarget)
	return (*Conn)(t)
}
