package blocking

import (
	"context"
	"slices"

	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// In a bubble of testing/synctest, only goroutines of that bubble may wake a waiter: its waker
// sends on a channel of the bubble. So if the call is made outside, a goroutine in the waiter's
// bubble wakes the waiter and releases its clock. The bubble's time stands still meanwhile, because
// that goroutine waits for a channel that belongs to no bubble.
type bubbleWakers struct {
	resolved chan struct{} // closed when there is a result
	ended    chan struct{} // closed when the call has ended as well
	of       []sched.Waker // the wakers that have such a goroutine
}

// waitInBubble is wait for a call that is made outside the caller's bubble. The lock is held.
func (h *Handle[T]) waitInBubble(cx *sched.Context) {
	if h.bubbleWakers == nil {
		h.bubbleWakers = &bubbleWakers{resolved: bubble.Chan[struct{}](0), ended: bubble.Chan[struct{}](0)}
	}
	c, w, rt := h.bubbleWakers, cx.Waker(), cx.Runtime()
	if slices.Contains(c.of, w) {
		return
	}
	c.of = append(c.of, w)
	if rt == nil {
		background.Go(func() {
			<-c.resolved
			w.Wake()
		})
		return
	}
	rt.HoldClock()
	background.Go(func() {
		<-c.resolved
		w.Wake()
		<-c.ended
		rt.ReleaseClock()
	})
}

// realTime is ctx for a wait for a call. In a bubble, if the call is made outside, ctx's deadline
// becomes real time. The bubble's time stands still during the wait, so its deadline would never
// come.
func (p *Pool) realTime(ctx context.Context) (_ context.Context, release func()) {
	if !bubble.In() {
		return ctx, func() {}
	}
	p.mu.Lock()
	outside := p.outside
	p.mu.Unlock()
	if !outside {
		return ctx, func() {}
	}
	return bubble.Context(ctx)
}
