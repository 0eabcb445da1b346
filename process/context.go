package process

import (
	"context"
	"time"
)

// A processContext is the context of a process. It is the process itself, so it costs nothing.
type processContext proc

var _ context.Context = (*processContext)(nil)

type selfKey struct{}

// FromContext is the Self of the process whose Init was called with ctx, or nil.
func FromContext(ctx context.Context) *Self {
	self, _ := ctx.Value(selfKey{}).(*Self)
	return self
}

// Deadline implements context.Context: there is none.
func (c *processContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the process has ended, or has been canceled or killed.
func (c *processContext) Done() <-chan struct{} { return (*proc)(c).contextDone() }

// Err is context.Canceled once Done is closed.
func (c *processContext) Err() error {
	select {
	case <-c.Done():
		return context.Canceled
	default:
		return nil
	}
}

// Value has the process's Self.
func (c *processContext) Value(key any) any {
	if key == (selfKey{}) {
		return &c.self
	}
	return nil
}

// contextDone is the channel of the process's context.
func (p *proc) contextDone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return closedChan
	}
	x := p.more()
	if x.done == nil {
		if x.canceled {
			x.done = closedChan
		} else {
			x.done = make(chan struct{})
		}
	}
	return x.done
}

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// endContext ends the process's context. The lock is held.
func (p *proc) endContext() {
	if p.ended || p.extras != nil && p.extras.canceled {
		return
	}
	x := p.more()
	x.canceled = true
	if x.done != nil {
		close(x.done)
	}
}
