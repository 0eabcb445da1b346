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

// A task cannot be pinned to a spare: it runs on the worker that the spare's index names.
func TestATaskThatASparePinsRunsOnAWorker(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1, Spares: 1})
	release := occupy(t, rt, 0)
	ran := make(chan int, 2)
	task := new(sched.Task)
	task.Init(rt, body(func(cx *sched.Context) bool {
		ran <- cx.Worker()
		if cx.Worker() == 0 {
			return true
		}
		task.Pin(cx.Worker())
		cx.Wake(cx.Waker())
		return false
	}))
	task.Wake()
	require.Equal(t, 1, receive(t, "it runs on the spare", ran))
	release()
	require.Equal(t, 0, receive(t, "it runs on the worker", ran))
}
