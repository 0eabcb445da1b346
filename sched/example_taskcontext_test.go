package sched_test

import (
	"context"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A query is a call of a library that can be canceled only by a context.
func query(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Aborting a task cancels the call that it is in.
func ExampleContext() {
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

// A derived context bounds a wait, and its values travel with it.
func ExampleAwait_withTimeout() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(cx, time.Millisecond)
		defer cancel()
		return sched.Await(ctx, sched.Sleep(time.Hour))
	})
	_, err := h.Wait(context.Background())
	fmt.Println(err)
	// Output: context deadline exceeded
}

type requestID struct{}

// logLine is called deep within a request, and the request's number is not an argument.
func logLine(ctx context.Context, what string) {
	fmt.Printf("request %d: %s\n", ctx.Value(requestID{}), what)
}

// A value of a task travels with the contexts that are derived from its own.
func ExampleContext_value() {
	rt := sched.New(sched.Config{})
	defer rt.Close()
	h := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		ctx := context.WithValue(cx, requestID{}, 42)
		_, _ = sched.Await(ctx, sched.Yield())
		logLine(ctx, "answered")
		return struct{}{}, nil
	})
	_, _ = h.Wait(context.Background())
	// Output: request 42: answered
}
