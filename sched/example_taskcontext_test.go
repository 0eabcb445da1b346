package sched_test

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/sched"
)

// A query is a call of a library that can be canceled only by a context.
func query(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Aborting a task cancels the call that it is in.
func ExampleContext_Context() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	asks := make(chan struct{})
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		close(asks)
		return struct{}{}, query(cx)
	})
	<-asks
	h.Abort()
	_, err := h.Wait(context.Background())
	fmt.Println(err)
	// Output: sched: task canceled: context canceled
}

// A task works for a request: its calls have the request's values and end with it.
func ExampleContext_Inherit() {
	type user struct{}
	rt := sched.New(sched.Config{})
	defer rt.Close()
	request := context.WithValue(context.Background(), user{}, "ann")
	h := sched.Go(rt, func(cx *sched.Context) (any, error) {
		cx.Inherit(request)
		return cx.Value(user{}), nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: ann <nil>
}
