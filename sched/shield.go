package sched

// Shield defers an abort of the task that polls it while f is pending, from the first poll on. Use
// it for a future that must not be left half done. When f is done, the task goes on and ends at
// its next suspension. A task that was aborted before the first poll does not poll it. If a task
// must wait after an abort, to clean up, it calls Context.Shield. A task may have at most 255
// shields at a time; one more panics.
//
// The shield belongs to the task. So futures that are polled beside f, by Select or Join, are also
// protected while f is pending. It protects against aborts only. If a Shield is abandoned, because
// another future has won or a Timeout around it has expired, the shield ends and f is abandoned.
// So Timeout(d, Shield(f)) bounds how long an abort may be deferred, and Shield(Timeout(d, f))
// also shields the deadline. Spawn a future that must go on when nobody waits for it. A shield
// defers neither the close of the runtime nor the end of Block's context.
//
// Only one task may poll it.
func Shield[T any](f Future[T]) Future[T] {
	mustHaveFuture(f)
	return &shielded[T]{f: f}
}

type shielded[T any] struct {
	f    Future[T]
	task *Task    // the task that is shielded; nil: no shield is up
	cx   *Context // of the function that is shielded; nil: none
}

func (s *shielded[T]) Poll(cx *Context) (T, error) {
	if s.task == nil {
		s.raise(cx)
	}
	v, err := s.f.Poll(cx)
	if err != ErrPending {
		s.lower()
	}
	return v, err
}

func (s *shielded[T]) raise(cx *Context) {
	if !cx.shield() {
		return // it is polled by other code than the context's
	}
	if s.task = cx.task; cx.coroutine != nil {
		s.cx = cx
	}
}

// lower ends the shield. The task runs, or is being ended, so its memory does not belong to
// another task yet.
func (s *shielded[T]) lower() {
	if t := s.task; t != nil {
		s.task = nil
		s.cx.lowered(t, t.state.unshield())
	}
}

func (s *shielded[T]) Undo() { undo(s.f) }

// Cancel abandons f, and then ends the shield.
func (s *shielded[T]) Cancel() {
	defer s.lower()
	abandon(s.f)
}
