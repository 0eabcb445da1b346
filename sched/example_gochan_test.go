package sched_test

import (
	"context"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A task waits in one Select for a value of a Go channel and for a context. A value that was
// received for a dropped Recv goes to the next Recv.
func ExampleRecv() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	ctx, stop := context.WithCancel(context.Background())
	lines := make(chan string)
	h := sched.Go(rt, func(cx *sched.Context) (n int, err error) {
		for {
			first, err := sched.Await(cx, sched.Select(sched.Any(sched.Recv(lines)), sched.Any(sched.Done(ctx))))
			if err != nil || first.Err != nil || first.Index == 1 {
				return n, err
			}
			n += len(first.Value.(string))
		}
	})
	lines <- "one"
	lines <- "two"
	close(lines)
	fmt.Println(h.Wait(context.Background()))
	stop()
	// Output: 6 <nil>
}

func ExampleDone() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		if _, err := sched.Await(cx, sched.Done(ctx)); err != nil {
			return "", err
		}
		return "ended", context.Cause(ctx)
	})
	cancel(fmt.Errorf("the client has gone"))
	fmt.Println(h.Wait(context.Background()))
	// Output: ended the client has gone
}

// The deadline of a request's context bounds the task's Await.
func ExampleWithContext() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	h := sched.Spawn(rt, sched.WithContext(ctx, sched.Future[struct{}](sched.Sleep(time.Hour))))
	_, err := h.Wait(context.Background())
	fmt.Println(err)
	// Output: context deadline exceeded
}
