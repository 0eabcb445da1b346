package netfd

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A half is one direction of an FD. It is the future of its next edge, for the call that is under
// way.
type half struct {
	readiness.Half[sched.Waker]
	fd        *FD
	direction readiness.Direction

	// the call's that is under way
	drained bool // the last system call left nothing behind
	timing  *timing
}

// A timing wakes the waiter at its deadline. A half that never waits with one has none.
type timing struct {
	alarm alarm.Alarm
	waker sched.Waker // whom the alarm wakes
}

var (
	_ sched.Future[struct{}] = (*half)(nil)
	_ sched.Canceler         = (*half)(nil)
)

// Poll implements sched.Future.
func (h *half) Poll(cx *sched.Context) (struct{}, error) {
	if why := h.fd.refused.Load(); why != nil && !h.fd.Closed() {
		return struct{}{}, *why
	}
	rt := h.fd.group.RT
	deadline, done, err := h.Half.Poll(&h.fd.life, rt.Now(), cx.Waker())
	if done {
		return struct{}{}, err
	}
	if deadline != 0 {
		h.wakeBy(rt, deadline, cx.Waker())
	}
	return struct{}{}, sched.ErrPending
}

// wakeBy makes a timer wake the waiter. One that is set for an earlier time stays.
func (h *half) wakeBy(rt *sched.Runtime, at time.Duration, waker sched.Waker) {
	t := h.timing
	if t == nil {
		t = new(timing)
		h.timing = t
	}
	if t.waker != waker {
		t.alarm.Stop(rt)
		t.waker = waker
	}
	t.alarm.Rang() // if it has, it is to be set again
	t.alarm.Set(rt, at, waker)
}

// Cancel implements sched.Canceler.
func (h *half) Cancel() {
	h.Forget()
	h.stop()
}

// stop stops the timer.
func (h *half) stop() {
	if h.timing != nil {
		h.timing.alarm.Stop(h.fd.group.RT)
	}
}

// enter begins a call.
func (h *half) enter() error { return h.fd.life.Enter(h.direction) }

// leave ends a call.
func (h *half) leave() { h.fd.leave(h.direction) }

// asks reports whether the kernel is to be asked. Otherwise the call waits at once. The edges that
// came before are forgotten.
func (h *half) asks() bool {
	if h.drained && !h.Ready() {
		return false
	}
	h.Clear()
	return true
}

// await waits for the next edge.
func (h *half) await(ctx context.Context) error {
	if reactor.Rewatches {
		if home := h.fd.home.Load(); home != nil {
			edge := reactor.EdgeIn
			if h.direction == readiness.Out {
				edge = reactor.EdgeOut
			}
			_ = home.R.Submit(&reactor.Op{Kind: reactor.Rewatch, FD: h.fd.end.FD, Token: h.fd.end.Token, Edge: edge}) // fails after the end
		}
	}
	_, err := sched.Block(ctx, h.fd.group.RT, h)
	return err
}

// SetDeadline makes calls of a direction fail with os.ErrDeadlineExceeded from at on, in the
// runtime's time, also those that wait. 0: no deadline.
func (fd *FD) SetDeadline(d readiness.Direction, at time.Duration) { fd.halves[d].SetDeadline(at) }

// Awaited reports whether a call waits. It may be out of date at once.
func (fd *FD) Awaited(d readiness.Direction) bool { return fd.halves[d].Awaited() }
