package sched

// Shield defers an abort of the task that polls it while f is pending, from the
// first poll on: for a future that must not be left half done. When it is done, the
// task goes on and ends at its next suspension. A task that was aborted before the
// first poll does not get there; one that wants to wait after that, to clean up,
// calls Context.Shield. At most 255 may be up in a task at a time; one more panics.
//
// The shield is the task's: what is polled beside f, by Select or Join, is kept
// from the abort as well while f is pending. And it is against aborts alone.
// Whoever abandons a Shield, because another future has won or a Timeout around it
// has expired, lowers it and abandons f: so Timeout(d, Shield(f)) bounds how long
// an abort may be deferred, and Shield(Timeout(d, f)) has the deadline shielded
// too. A future that must go on when nobody waits for it is to be spawned. Closing
// the runtime is not deferred, nor is the end of Block's context.
//
// It is to be polled by one task only.
func Shield[T any](f Future[T]) Future[T] { return &shielded[T]{f: f} }

type shielded[T any] struct {
	f    Future[T]
	task *Task // whose shield is up; nil: not up
}

func (s *shielded[T]) Poll(cx *Context) (T, error) {
	if s.task == nil {
		cx.Shield()
		s.task = cx.task
	}
	v, err := s.f.Poll(cx)
	if err != ErrPending {
		s.lower()
	}
	return v, err
}

// lower takes the shield down. The task is the one that runs, or that is being
// ended: not another one in its memory.
func (s *shielded[T]) lower() {
	if t := s.task; t != nil {
		s.task = nil
		t.state.unshield()
	}
}

// Cancel abandons f, and then lowers the shield.
func (s *shielded[T]) Cancel() {
	defer s.lower()
	abandon(s.f)
}
