package sched_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/suiro-go/suiro/sched"
)

func ExampleJoinSet() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	sum := sched.Go(rt, func(cx *sched.Context) (int, error) {
		var set sched.JoinSet[int]
		defer set.Close() // no task stays behind, also after an error
		for n := range 4 {
			set.Go(cx, func(cx *sched.Context) (int, error) { return n * n, nil })
		}
		sum := 0
		for {
			v, err := sched.Await(cx, set.JoinNext())
			if err == sched.ErrEmpty {
				return sum, nil
			}
			if err != nil {
				return 0, err
			}
			sum += v
		}
	})
	fmt.Println(sum.Wait(context.Background()))
	// Output: 14 <nil>
}

func ExampleTimeout() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		return sched.Await(cx, sched.Timeout(time.Millisecond, sched.Sleep(time.Hour)))
	})
	_, err := h.Wait(context.Background())
	fmt.Println(err, errors.Is(err, os.ErrDeadlineExceeded))
	// Output: sched: timed out true
}

func ExampleSelect2() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	token := sched.NewCancellationToken()
	h := sched.Go(rt, func(cx *sched.Context) (string, error) {
		work := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 42, nil })
		first, err := sched.Await(cx, sched.Select2(token.Canceled(), work))
		if err != nil || first.Err != nil {
			return "", errors.Join(err, first.Err)
		}
		if first.Index == 0 {
			return "stopped", nil
		}
		return fmt.Sprint("worked: ", first.B), nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: worked: 42 <nil>
}

func ExampleTaskTracker() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	var tracker sched.TaskTracker
	token := sched.NewCancellationToken()
	for range 3 {
		sched.SpawnTracked(rt, &tracker, token.Child().Canceled())
	}
	tracker.Close()
	token.Cancel()
	_, err := sched.Block(context.Background(), rt, tracker.Wait())
	fmt.Println(tracker.Len(), err)
	// Output: 0 <nil>
}
