package conn

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// What reactors, the group and the scheduler call: types of its own, so that users who hold a
// Conn do not see these methods.
type (
	connTarget Conn
	connTask   Conn
)

var (
	_ engine.Suspect = (*connTarget)(nil)
	_ engine.Ordered = (*connTarget)(nil)
	_ sched.Survivor = (*connTask)(nil)
)

// Deliver implements engine.Target.
func (t *connTarget) Deliver(by *engine.Driver, e *reactor.Completion) {
	(*Conn)(t).deliver(driverOf(by), e)
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

// Exited implements sched.Survivor: it is called after a run in which a handler has ended the
// goroutine. The next run tears the connection down.
func (t *connTask) Exited(*sched.Context) {
	c := (*Conn)(t)
	c.group.cfg.Logger.Error("conn: handler called runtime.Goexit", "remote", c.RemoteAddr())
	c.detach()
	c.fail(sched.ErrGoexit)
	if c.driver.telling == c {
		c.driver.telling = nil
		c.install(untold{}) // OnClose has been called
	}
}

// untold replaces the handler of a connection once no method of that may be called.
type untold struct{ Base }

func (untold) OnData(*Conn) error { return nil }
