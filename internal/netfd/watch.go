package netfd

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// register begins the Watch, on the worker of a task or else on one that the group chooses. Calls
// that come before it wait for its first edge, which tells the state of that time.
func (fd *FD) register(cx *sched.Context) {
	if cx != nil && cx.Runtime() == fd.group.RT {
		fd.begin(engine.Of(cx))
		return
	}
	r := &registering{fd: fd}
	r.task.Init(fd.group.RT, r)
	r.task.WakeOn(fd.group.NextWorker())
}

// A registering is the task that begins the Watch for a goroutine.
type registering struct {
	task sched.Task
	fd   *FD
}

// Run implements sched.Body.
func (r *registering) Run(cx *sched.Context) (done bool) {
	r.fd.begin(engine.Of(cx))
	return true
}

// begin begins the Watch on the worker of that driver, unless the FD is closed.
func (fd *FD) begin(by *engine.Driver) {
	if fd.life.Hold() != nil {
		return // the close gives the token back
	}
	home := by.Via(fd.home.Load())
	fd.home.Store(home)
	fd.registration.Begin()
	err := by.Submit(home, reactor.Op{Kind: reactor.Watch, FD: fd.end.FD, Token: fd.end.Token, TCP: fd.kind == TCP})
	if err != nil {
		fd.ended(err)
	}
	if fd.life.Release() {
		fd.shut()
	}
}

// ended deals with the end of the Watch, which has err as its cause.
func (fd *FD) ended(err error) {
	fd.refused.Store(&err)
	if fd.registration.End() {
		fd.gone()
		return
	}
	for d := range fd.halves {
		fd.halves[d].Signal()
	}
}

// A target is what reactors and the group tell an FD.
type target FD

var (
	_ engine.Target  = (*target)(nil)
	_ engine.Ordered = (*target)(nil)
)

// Deliver implements engine.Target.
func (t *target) Deliver(by *engine.Driver, c *reactor.Completion) {
	fd := (*FD)(t)
	if c.Res >= 0 {
		edge := reactor.Edge(c.Res)
		if m := uint32(edge & marked); m&^fd.marks.Load() != 0 {
			fd.marks.Or(m) // before the call is woken, or told by Ready, that looks at it
		}
		if edge&reactor.EdgeIn != 0 {
			fd.edge(by, readiness.In)
		}
		if edge&reactor.EdgeOut != 0 {
			fd.edge(by, readiness.Out)
		}
	}
	if c.More {
		return
	}
	errno := c.Errno()
	if c.Res >= 0 || !temporary(errno) {
		if c.Res >= 0 {
			errno = syscall.ECANCELED
		}
		fd.ended(sock.Error("poll", errno))
		return
	}
	if fd.registration.End() {
		fd.gone()
		return
	}
	fd.begin(by)
}

// edge wakes the waiter of a direction by the worker that has taken the completion.
func (fd *FD) edge(by *engine.Driver, d readiness.Direction) {
	if waker, waits := fd.halves[d].Edge(); waits {
		by.Cx.Wake(waker)
	}
}

// Obey implements engine.Ordered.
func (t *target) Obey(o engine.Order) {
	if o == engine.Abort {
		(*FD)(t).Abort()
	}
}
