package sched_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A stackful task is plain code that awaits.
func ExampleGo() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		if _, err := sched.Await(cx, sched.Sleep(time.Millisecond)); err != nil {
			return "", err
		}
		return "slept", nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: slept <nil>
}

// An aborted task ends at its next Await.
func ExampleJoinHandle_Abort() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		return sched.Await(cx, sched.Sleep(time.Hour))
	})
	h.Abort()
	_, err := h.Wait(context.Background())
	fmt.Println(errors.Is(err, sched.ErrCanceled))
	// Output: true
}

// An ordinary goroutine, as that of main, waits for a future.
func ExampleBlock() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	_, err := sched.Block(context.Background(), rt, sched.Sleep(time.Millisecond))
	fmt.Println(err)
	// Output: <nil>
}

// Join waits for several futures within one task.
func ExampleJoin() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	square := func(n int) sched.Future[int] {
		return sched.Go(rt, func(cx *sched.Context) (int, error) { return n * n, nil })
	}
	h := sched.Spawn(rt, sched.Join(square(2), square(3)))
	fmt.Println(h.Wait(context.Background()))
	// Output: [4 9] <nil>
}

// Graceful shutdown: the token tells the tasks to stop, the tracker waits until they have.
func ExampleCancellationToken() {
	rt := sched.New(sched.Config{})
	stop := sched.NewCancellationToken()
	var tasks sched.TaskTracker
	for range 3 {
		sched.GoTracked(rt, &tasks, func(cx *sched.Context) (struct{}, error) {
			for {
				tick := sched.Future[struct{}](sched.Sleep(time.Millisecond)) // the work
				first, err := sched.Await(cx, sched.SelectBiased(stop.Canceled(), tick))
				if err != nil || first.Index == 0 {
					return struct{}{}, err
				}
			}
		}).Detach()
	}
	stop.Cancel()
	tasks.Close()
	_, err := sched.Block(context.Background(), rt, tasks.Wait())
	fmt.Println(tasks.Len(), err, rt.Shutdown(context.Background()))
	// Output: 0 <nil> <nil>
}
