package sched_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A pinner pins itself to the next worker from its first run, and wakes itself.
type pinner struct {
	task sched.Task
	want int
	runs int
	ran  chan int
}

func (p *pinner) Run(cx *sched.Context) bool {
	if p.runs++; p.runs == 1 {
		p.want = (cx.Worker() + 1) % cx.Runtime().Workers()
		p.task.Pin(p.want)
		cx.Wake(cx.Waker())
		return false
	}
	p.ran <- cx.Worker()
	return true
}

func TestATaskThatPinsItselfElsewhereRunsThere(t *testing.T) {
	for range 50 {
		rt := start(t, sched.Config{Workers: 2})
		p := &pinner{ran: make(chan int, 1)}
		p.task.Init(rt, p)
		p.task.Wake()
		require.Equal(t, receive(t, "the task runs again", p.ran), p.want)
	}
}
