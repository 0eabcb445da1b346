package blocking

import (
	"context"
	"slices"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/sched"
)

// A waiter in a bubble of testing/synctest may be woken only by goroutines of its bubble: its
// waker ends in a channel of the bubble. If the call is made outside, the waiter therefore has a
// courier: a goroutine in its bubble, which wakes the waiter and lets its clock go on. The bubble's
// time stands still meanwhile, because a courier waits for a channel of no bubble.
type couriers struct {
	resolved chan struct{} // closed when there is a result
	ended    chan struct{} // closed when the call has ended too
	of       []sched.Waker // those that have one
}

// waitInBubble is wait for a call that is made outside the caller's bubble. The lock is held.
func (h *Handle[T]) waitInBubble(cx *sched.Context) {
	if h.couriers == nil {
		h.couriers = &couriers{resolved: bubble.Chan[struct{}](0), ended: bubble.Chan[struct{}](0)}
	}
	c, w, rt := h.couriers, cx.Waker(), cx.Runtime()
	if slices.Contains(c.of, w) {
		return
	}
	c.of = append(c.of, w)
	if rt == nil {
		go func() {
			<-c.resolved
			w.Wake()
		}()
		return
	}
	rt.HoldClock()
	go func() {
		<-c.resolved
		w.Wake()
		<-c.ended
		rt.ReleaseClock()
	}()
}

// realTime is ctx for a wait for a call. In a bubble it has its deadline in real time if the call
// is made outside: the bubble's time stands still meanwhile, so the deadline would never come.
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
