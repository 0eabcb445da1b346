package sched

// Draining is the token that a shutdown cancels before it waits for anything. A task that is no
// longer needed then ends, and a task with work to complete does so. In a task of a TaskScope it
// is the scope's token. In a task whose Body is a Drainer, as a connection's is, it is the
// Drainer's. In other tasks, and elsewhere, it is the runtime's: take the token in the task for
// another goroutine. In the Await of a goroutine, which has no runtime, it is a token that nobody
// cancels.
//
// Await its Canceled in a Select, or give its Context to a library:
//
//	first, err := sched.Await(cx, sched.Select(cx.Draining().Canceled(), s.Readable()))
func (cx *Context) Draining() *CancellationToken {
	if cx.isOn() {
		switch b := cx.task.body.(type) {
		case *cell[struct{}]:
			if t, ok := b.future.(*scopeTask); ok {
				return &t.scope.draining
			}
		case Drainer:
			return b.TaskDraining()
		}
	}
	if cx.rt == nil {
		return NewCancellationToken()
	}
	return cx.rt.Draining()
}

// A Drainer is a Body with its own token for Context.Draining. TaskDraining is called in a run.
type Drainer interface {
	Body
	TaskDraining() *CancellationToken
}

// Draining is the token that Shutdown cancels first; Close cancels it as well. If a group has its
// own runtime, the group's servers cancel it, too. Anyone may cancel it: that alone ends nothing.
func (rt *Runtime) Draining() *CancellationToken { return &rt.leaving }
