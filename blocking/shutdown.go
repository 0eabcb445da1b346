package blocking

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/ctxend"
	"github.com/suiro-go/suiro/internal/onworker"
)

// How a pool ends:
//
//  1. closed is set: nothing is queued any more.
//  2. Idle threads are woken, and end. The others work on the queue until it is empty, and end. If
//     the queue is not empty there is a thread, so it becomes empty.
//  3. When time is over, or in Close, the queue is emptied: each call in it ends with ErrClosed.
//     Only calls that have started are left then.
//  4. The last thread to end closes drained.

// Shutdown refuses further calls, makes the queued ones, and waits for all to end. If ctx ends
// first, the calls that have not started end with ErrClosed. The error matches ctx's error and
// says how many calls are still in progress. Nothing can stop these, but their handles will have
// their results. Shutdown may be called more than once. To drop the queued calls at once, call
// Close before.
//
// On a worker of a runtime, Shutdown succeeds if the pool has no goroutine. Otherwise it does
// nothing and returns sched.ErrBlocksWorker.
func (p *Pool) Shutdown(ctx context.Context) error {
	drained, err := p.refuse(onworker.Wait())
	if err != nil {
		return err
	}
	select {
	case <-drained:
		return nil
	default:
	}
	ctx, release := p.realTime(ctx)
	defer release()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	dropped := p.drop()
	p.mu.Lock()
	running := p.busy
	p.mu.Unlock()
	if dropped == 0 && running == 0 {
		return nil
	}
	return fmt.Errorf("blocking: %d calls were still under way at shutdown, and %d had not started: %w",
		running, dropped, ctxend.Reason(ctx))
}

// Close refuses further calls, and ends those that have not started with ErrClosed. It does not
// wait for calls in progress: Shutdown does. It never fails.
func (p *Pool) Close() error {
	_, _ = p.refuse(nil)
	p.drop()
	return nil
}

// refuse does steps 1 and 2. The channel is closed when no thread is left. If the caller may not
// wait for that, noWait says why: then refuse returns it, unless there is no thread.
func (p *Pool) refuse(noWait error) (drained <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if noWait != nil && p.threads > 0 {
		return nil, noWait
	}
	p.closed = true
	for _, t := range p.idle {
		t.wake <- struct{}{}
	}
	p.idle = nil
	if p.keep != nil {
		p.keep.Stop()
	}
	if p.drained == nil {
		p.drained = p.channel()
	}
	c := p.drained
	if p.threads == 0 {
		close(c)
		p.drained = nil
	}
	return c, nil
}

// channel makes a channel that the pool's goroutines may close.
func (p *Pool) channel() chan struct{} {
	if p.outside {
		return bubble.Chan[struct{}](0)
	}
	return make(chan struct{})
}

// drop does step 3.
func (p *Pool) drop() (dropped int) {
	p.mu.Lock()
	var jobs []job
	for n := p.queue.Front(); n != nil; n = p.queue.Front() {
		jobs = append(jobs, n.Value)
		p.queue.Remove(n)
	}
	p.mu.Unlock()
	for _, j := range jobs {
		j.refuse(ErrClosed)
	}
	return len(jobs)
}
