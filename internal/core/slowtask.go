package core

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/sched"
)

var _ sched.Describer = (*connTask)(nil)

// DescribeTask implements sched.Describer.
func (t *connTask) DescribeTask() (handler, peer string) {
	c := (*Conn)(t)
	return NameOf(c.handlerNow()), c.Remote().String()
}

// RunsOwnCode reports whether the runs call no function of the user, but for those of Handle.Do.
func (t *connTask) RunsOwnCode() bool {
	_, own := (*Conn)(t).handlerNow().(Own)
	return own
}

// TaskListener names the listener in labels of profiles.
func (t *connTask) TaskListener() string { return (*Conn)(t).Origin().Listener() }

// NameOf names the user's handler that h stands for. Any goroutine may call it.
func NameOf(h any) string {
	if s, ok := h.(StandIn); ok {
		return s.UsersName()
	}
	return engine.HandlerName(h)
}

// A StandIn is a handler in place of the user's.
type StandIn interface {
	// UsersName names the user's handler, or this one if it is there for itself.
	UsersName() string
}

// An Own handler is the library's: its methods call no function of the user.
type Own interface{ Own() }
