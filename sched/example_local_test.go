package sched_test

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/sched"
)

var requestID sched.Local[int]

// logLine is called deep within a request, and the request's number is not an argument.
func logLine(cx *sched.Context, what string) {
	id, _ := requestID.Get(cx)
	fmt.Printf("request %d: %s\n", id, what)
}

func ExampleLocal() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		requestID.With(cx, 42, func() {
			_, _ = sched.Await(cx, sched.Yield())
			logLine(cx, "answered")
		})
		return struct{}{}, nil
	})
	_, _ = h.Wait(context.Background())
	// Output: request 42: answered
}
