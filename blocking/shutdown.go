package blocking

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/internal/bubble"
)

// How a pool ends:
//
//  1. closed is set: nothing is queued any more.
//  2. Idle threads are woken, and end. Those that make calls go on with the queue until
//     it is empty, and end. If there is a queue there is a thread, so it gets empty.
//  3. If time is over, or with Close, the queue is emptied: each call in it ends with
//     ErrClosed. Only calls that have started are left then.
//  4. The last thread to end says so.

// Shutdown has the pool refuse further calls, makes those that are queued, and waits for
// all to end. If ctx ends first, the calls that have not started end with ErrClosed, and
// the error matches ctx's and says how many have and are still under way: nothing can
// stop them, but their handles will have their results. It may be called more than
// once. To drop what is queued at once, call Close before.
func (p *Pool) Shutdown(ctx context.Context) error {
	drained := p.refuse()
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
		running, dropped, context.Cause(ctx))
}

// Close has the pool refuse further calls, and ends those that have not started with
// ErrClosed. It does not wait for those that have: Shutdown does. It never fails.
func (p *Pool) Close() error {
	p.refuse()
	p.drop()
	return nil
}

// refuse is steps 1 and 2. What it returns is closed when no thread is left.
func (p *Pool) refuse() (drained <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
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
	return c
}

// channel makes one that the pool's goroutines may close.
func (p *Pool) channel() chan struct{} {
	if p.outside {
		return bubble.Chan[struct{}](0)
	}
	return make(chan struct{})
}

// drop is step 3.
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
