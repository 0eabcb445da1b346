package sched_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A countdown is a future that is polled until it reaches 0. It wakes itself; usually another
// party wakes a future when there is an event.
type countdown struct{ left int }

func (c *countdown) Poll(cx *sched.Context) (string, error) {
	if c.left > 0 {
		c.left--
		cx.Waker().Wake()
		return "", sched.ErrPending
	}
	return "lift-off", nil
}

func Example() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	h := sched.Spawn(rt, &countdown{left: 3})
	v, err := h.Wait(context.Background())
	fmt.Println(v, err)
	// Output: lift-off <nil>
}

// A panic ends its task, and nothing else.
func ExampleSpawn_panic() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	h := sched.Spawn(rt, sched.FutureFunc[int](func(*sched.Context) (int, error) { panic("oh") }))
	_, err := h.Wait(context.Background())
	var p *sched.PanicError
	fmt.Println(errors.As(err, &p), err)
	// Output: true sched: task panicked: oh
}

// A task awaits another one: its handle is a future.
func ExampleJoinHandle_Poll() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()

	count := sched.Spawn(rt, &countdown{left: 3})
	h := sched.Spawn(rt, sched.FutureFunc[string](func(cx *sched.Context) (string, error) {
		v, err := count.Poll(cx)
		if err != nil {
			return "", err // ErrPending: polled again when h is done
		}
		return v + "!", nil
	}))
	fmt.Println(h.Wait(context.Background()))
	// Output: lift-off! <nil>
}

// A nap is a future that is done at a given time.
type nap struct {
	timer sched.Timer
	until time.Duration
}

func (n *nap) Poll(cx *sched.Context) (string, error) {
	if cx.Now() < n.until {
		cx.Runtime().StartTimer(&n.timer, n.until, cx.Waker())
		return "", sched.ErrPending
	}
	return "rested", nil
}

func ExampleRuntime_StartTimer() {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()

	h := sched.Spawn(rt, &nap{until: rt.Now() + 5*time.Millisecond})
	fmt.Println(h.Wait(context.Background()))
	// Output: rested <nil>
}
