package sched

import "context"

// followed is the context whose end wakes a task. A task that waits repeatedly with a context that
// was derived from its own registers for its end once, and keeps the registration when the wait
// is over. An end between two waits is a wake-up without a reason, which futures allow.
type followed struct {
	done <-chan struct{} // the context's Done; nil: none
	stop func() bool
}

// follow makes the end of ctx wake the task. No end is missed: context.AfterFunc wakes at once if
// ctx has ended, and an end after that wakes the task, which looks at ctx after each poll. The
// registration is that of the last such context, by the identity of its Done.
func (cx *Context) follow(ctx context.Context) {
	done := ctx.Done()
	if done == nil || done == cx.followed.done {
		return
	}
	if cx.followed.stop != nil {
		cx.followed.stop()
	}
	cx.followed = followed{done, afterEnd(ctx, cx.Waker().Wake)}
}
