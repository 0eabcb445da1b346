package sched

import "context"

// Block polls f on the calling goroutine, which must not be a worker's, until it
// is done, and returns its result; ctx's error, with f abandoned, if that ends
// first. The futures of rt find it in the context; its workers are started.
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
	b.task.state.word.Store(stateScheduled)
	defer b.task.state.complete()
	for {
		cx.begin(&b.task)
		v, err := f.Poll(&cx)
		if err != ErrPending {
			return v, err
		}
		if b.task.state.suspend() {
			continue
		}
		select {
		case <-b.woke:
		case <-ctx.Done():
			b.task.state.seize() // so that late wakes are noted and queue nothing
			cx.budget = budgetPerRun
			if v, err := f.Poll(&cx); err != ErrPending {
				return v, err // it goes first: select picks any case that is ready
			}
			abandon(f)
			return *new(T), ctx.Err()
		}
	}
}
