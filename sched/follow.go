package sched

import "context"

// followed is the context whose end wakes a task. A call that waits registers for the end, and
// gives up the registration when it returns. So the cancel function that most callers then call
// wakes nobody. But a task that waits repeatedly with the same context keeps it.
type followed struct {
	done <-chan struct{} // the Done of the last context; nil: none
	stop func() bool     // gives up the registration; nil: there is none
	kept bool            // two calls in a row were for that context
}

// follow makes the end of ctx wake the task. It is called after a poll that was pending, and after
// a look at ctx. No end is missed: context.AfterFunc wakes at once if ctx has ended since, and an
// end after that wakes the task, which looks at ctx after each poll. A context is recognized by its
// Done.
func (cx *Context) follow(ctx context.Context) {
	f := &cx.followed
	done := ctx.Done()
	if done == nil || f.stop != nil && done == f.done {
		return
	}
	if f.stop != nil {
		f.stop()
	}
	*f = followed{done, afterEnd(ctx, cx.Waker().Wake), done == f.done}
}

// unfollow is called when a call with a derived context ends.
func (cx *Context) unfollow() {
	if f := &cx.followed; f.stop != nil && !f.kept {
		f.stop()
		f.stop = nil
	}
}
