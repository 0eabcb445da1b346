package core

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/sched"
)

// The methods that reactors, the group and the scheduler call. They are on separate types, so that
// users of a Conn do not see them.
type (
	connTarget Conn
	connTask   Conn
)

var (
	_ engine.Suspect   = (*connTarget)(nil)
	_ engine.Ordered   = (*connTarget)(nil)
	_ engine.Abandoned = (*connTarget)(nil)
	_ sched.Survivor   = (*connTask)(nil)
)

// Obey implements engine.Ordered.
func (t *connTarget) Obey(o engine.Order) {
	kind := CmdAbort
	switch o {
	case engine.Sever:
		return
	case engine.Drain:
		kind = cmdDrain
	case engine.Stage:
		kind = cmdStage
	}
	_ = (*Conn)(t).Tell(Command{Kind: kind}) // one that has ended needs no telling
}

// ConnOf is the connection that a token names; nil: it names something else.
func ConnOf(e *engine.Endpoint) *Conn {
	t, _ := e.Target.(*connTarget)
	return (*Conn)(t)
}

// Exited implements sched.Survivor: it is called after a run in which a handler has ended the
// goroutine. The next run tears the connection down.
func (t *connTask) Exited(*sched.Context) {
	c := (*Conn)(t)
	c.Group.Config.Logger.Error("conn: handler called runtime.Goexit", "remote", c.RemoteAddr())
	c.detach()
	c.Fail(sched.ErrGoexit)
	c.startDialed()
	if c.Driver.telling == c {
		c.Driver.telling = nil
		c.Install(Gone{}) // OnClose has been called
	}
}
