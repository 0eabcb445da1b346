package sched

import "context"

// Block polls f on the calling goroutine, which must not be a worker's, until it
// is done, and returns its result; with f abandoned, ctx's error if that ends
// first, and ErrClosed if rt closes. f finds rt in the context; its workers are
// started.
func Block[T any](ctx context.Context, rt *Runtime, f Future[T]) (T, error) {
	if err := rt.Start(); err != nil {
		abandon(f)
		return *new(T), err
	}
	return block(ctx, rt, f)
}

// A blocker is the task of a goroutine that blocks. It is never queued: when it
// is scheduled, the goroutine is told, and runs it.
type blocker struct {
	task Task
	woke chan struct{}
}

// Run is never called: the goroutine does it.
func (b *blocker) Run(*Context) bool { return false }

func (b *blocker) signal() { b.woke <- struct{}{} } // scheduled once until it runs, so there is room

func block[T any](ctx context.Context, rt *Runtime, f Future[T]) (T, error) {
	b := &blocker{woke: make(chan struct{}, 1)}
	b.task.body = b
	cx := Context{rt: rt}
	var closed <-chan struct{}
	if rt != nil {
		closed = rt.stopped
	}
	polled := false // to its end
	defer func() {
		b.task.state.complete()
		if !polled {
			abandon(f)
		}
	}()
	var ended error // why not to wait any longer
	b.task.state.word.Store(stateScheduled)
	for {
		cx.begin(&b.task)
		v, err := f.Poll(&cx)
		if err != ErrPending {
			polled = true
			return v, err
		}
		if ended != nil {
			return *new(T), ended
		}
		if b.task.state.suspend() { // it has woken itself: do not wait
			select {
			case <-ctx.Done():
				ended = ctx.Err()
			case <-closed:
				ended = ErrClosed
			default:
			}
			continue
		}
		select { // picks any case that is ready: a last poll lets the result go first
		case <-b.woke:
			continue
		case <-ctx.Done():
			ended = ctx.Err()
		case <-closed:
			ended = ErrClosed
		}
		if b.task.state.wake(0) {
			continue
		}
		<-b.woke // somebody else scheduled it
	}
}
